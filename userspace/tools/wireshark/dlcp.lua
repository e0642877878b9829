-- SPDX-License-Identifier: GPL-2.0
--
-- Wireshark's dissector of DLCP (Documentation/protocol.md). It decodes every packet and frame, and
-- follows messages: what was sent again, what was given up, how long a message took. It can tell
-- as much of a message as the capture has of it: at the receiver all that arrived. Fields in
-- brackets are its own, not on the wire.
--
-- Capture where offloads are off (ethtool -K DEV gso off gro off), or behind the card: above it the
-- packets of a batch come as one. Batches of data are cut where the segment size is known.

local dlcp = Proto("dlcp", "DLCP")

dlcp.prefs.port = Pref.uint("UDP port", 6253, "net.dlcp.udp_port")

-- --- fields

local types = {
	[1] = "DATA", [2] = "CTRL", [3] = "INIT", [4] = "INIT_ACK", [5] = "ECHO",
	[6] = "ECHO_ACK", [7] = "RESET",
}
local tags = { [0] = "important", [1] = "droppable", [2] = "critical" }
local frame_types = {
	[0] = "PAD", [1] = "ACK", [2] = "OPEN", [3] = "OFFER", [4] = "MAP", [5] = "DONE",
	[6] = "DONE_ACK", [7] = "GETMAP", [8] = "CREDIT", [9] = "WINDOW", [10] = "CLOSE",
	[11] = "RATE", [12] = "RAILS", [13] = "ASK", [14] = "ANSWER", [15] = "SENT", [16] = "DATA",
}
local reasons = {
	[0] = "nothing is missing", [1] = "forgiven", [2] = "stopped early", [3] = "deadline",
	[4] = "discarded",
}
local codes = {
	[1] = "abort", [2] = "refused: nobody listens", [3] = "unknown connection",
	[4] = "no common version", [5] = "protocol broken",
}

local f = {
	-- every packet
	tag = ProtoField.uint64("dlcp.tag", "Tag of the receiver", base.HEX),
	type = ProtoField.uint8("dlcp.type", "Type", base.DEC, types),
	flags = ProtoField.uint8("dlcp.flags", "Flags", base.HEX),
	ack_now = ProtoField.bool("dlcp.flags.ack_now", "Acknowledge at once", 8, nil, 0x01),
	open = ProtoField.bool("dlcp.flags.open", "An open block follows", 8, nil, 0x02),
	resent = ProtoField.bool("dlcp.flags.resent", "Sent before", 8, nil, 0x04),
	elicit = ProtoField.bool("dlcp.flags.elicit", "To be acknowledged", 8, nil, 0x08),
	queued = ProtoField.bool("dlcp.flags.queued", "Its sender sees a queue", 8, nil, 0x10),
	here = ProtoField.bool("dlcp.flags.here", "Here: its sender receives at the source port", 8, nil, 0x20),
	stray = ProtoField.bool("dlcp.flags.stray", "Stray: answers a packet without Here", 8, nil, 0x20),
	piece = ProtoField.bool("dlcp.flags.piece", "A piece of a segment", 8, nil, 0x40),
	all_sent = ProtoField.bool("dlcp.flags.sent", "All of the message was sent once", 8, nil, 0x80),
	path = ProtoField.uint8("dlcp.path", "Path"),
	class = ProtoField.uint8("dlcp.class", "Class", base.HEX),
	prio = ProtoField.uint8("dlcp.class.priority", "Priority class", base.DEC, nil, 0x07),
	segtag = ProtoField.uint8("dlcp.class.tag", "Tag of the segment", base.DEC, tags, 0x18),
	pn = ProtoField.uint32("dlcp.pn", "Packet number"),
	-- DATA, and frames about a message
	msg = ProtoField.uint32("dlcp.msg", "Message"),
	seg = ProtoField.uint32("dlcp.segment", "Segment"),
	off = ProtoField.uint16("dlcp.piece_offset", "Offset of the piece"),
	payload = ProtoField.bytes("dlcp.payload", "Payload"),
	payload_len = ProtoField.uint32("dlcp.payload_length", "Payload bytes"),
	-- open block
	key = ProtoField.uint64("dlcp.open.key", "Key"),
	length = ProtoField.uint64("dlcp.open.length", "Length"),
	bound = ProtoField.uint32("dlcp.open.bound", "Loss bound (ppm)"),
	deadline = ProtoField.uint32("dlcp.open.deadline", "Remaining deadline (us)"),
	critical = ProtoField.uint32("dlcp.open.critical", "Critical segments"),
	seg_size = ProtoField.uint16("dlcp.open.segment_size", "Segment size"),
	elem_size = ProtoField.uint16("dlcp.open.element_size", "Element size"),
	open_prio = ProtoField.uint8("dlcp.open.class", "Priority class"),
	open_flags = ProtoField.uint8("dlcp.open.flags", "Flags", base.HEX),
	early_stop = ProtoField.bool("dlcp.open.early_stop", "Early stop", 8, nil, 0x01),
	hard = ProtoField.bool("dlcp.open.hard_deadline", "Hard deadline", 8, nil, 0x02),
	report = ProtoField.bool("dlcp.open.report", "Report wanted", 8, nil, 0x04),
	has_deadline = ProtoField.bool("dlcp.open.has_deadline", "Has a deadline", 8, nil, 0x01),
	doublings = ProtoField.uint8("dlcp.open.share", "Doublings of its part of the allowance", base.DEC, nil, 0x0e),
	silence = ProtoField.uint8("dlcp.open.silence", "Silence (coded)", base.HEX),
	group = ProtoField.uint32("dlcp.open.group", "Group"),
	-- CTRL
	frame = ProtoField.none("dlcp.frame", "Frame"),
	ftype = ProtoField.uint8("dlcp.frame.type", "Type", base.DEC, frame_types),
	fflags = ProtoField.uint8("dlcp.frame.flags", "Flags", base.HEX),
	covered = ProtoField.bool("dlcp.frame.flags.covered", "Comes within the allowance", 8, nil, 0x01),
	flen = ProtoField.uint16("dlcp.frame.length", "Length"),
	ack_path = ProtoField.uint8("dlcp.ack.path", "Path"),
	words = ProtoField.uint16("dlcp.words", "Words"),
	word = ProtoField.uint64("dlcp.word", "Word", base.HEX),
	largest = ProtoField.uint32("dlcp.ack.largest", "Largest packet number"),
	delay = ProtoField.uint32("dlcp.ack.delay", "Since the last packet came (us)"),
	ce = ProtoField.uint32("dlcp.ack.marks", "Congestion marks so far"),
	count = ProtoField.uint32("dlcp.ack.packets", "Packets so far"),
	time_us = ProtoField.uint32("dlcp.ack.time", "The last packet's time after the path's first (us)"),
	given_up = ProtoField.uint32("dlcp.offer.given_up", "Segments given up"),
	first_word = ProtoField.uint32("dlcp.map.first_word", "First word"),
	missing_segs = ProtoField.uint32("dlcp.done.missing_segments", "Missing segments"),
	missing = ProtoField.uint64("dlcp.done.missing", "Missing bytes"),
	why = ProtoField.uint8("dlcp.done.why", "Why", base.DEC, reasons),
	done_flags = ProtoField.uint8("dlcp.done.flags", "Flags", base.HEX),
	below = ProtoField.bool("dlcp.done.below_bound", "Below the bound", 8, nil, 0x01),
	late = ProtoField.bool("dlcp.done.late", "Late", 8, nil, 0x02),
	from_word = ProtoField.uint32("dlcp.getmap.word", "From this word on"),
	credit = ProtoField.uint64("dlcp.credit", "Bytes that may be sent, in all"),
	max_msg = ProtoField.uint32("dlcp.max_msg", "First message number not allowed"),
	unsolicited = ProtoField.uint64("dlcp.unsolicited", "Bytes without credit, in all"),
	nr_msgs = ProtoField.uint32("dlcp.close.messages", "Messages sent, in all"),
	rate = ProtoField.uint32("dlcp.rate", "Rate (1000 bytes/s)"),
	family = ProtoField.uint8("dlcp.rails.family", "Family"),
	rail4 = ProtoField.ipv4("dlcp.rails.ipv4", "Address"),
	rail6 = ProtoField.ipv6("dlcp.rails.ipv6", "Address"),
	token = ProtoField.uint64("dlcp.token", "Token", base.HEX),
	wait = ProtoField.uint32("dlcp.sent.silence", "Silence (ns)"),
	front = ProtoField.uint16("dlcp.data.at", "The packet ends, and DATA begins, after (bytes)"),
	unknown = ProtoField.bytes("dlcp.frame.body", "Body"),
	reserved = ProtoField.bytes("dlcp.reserved", "Reserved"),
	-- set-up
	my_tag = ProtoField.uint64("dlcp.setup.tag", "Tag of the sender", base.HEX),
	sport = ProtoField.uint16("dlcp.setup.srcport", "DLCP source port"),
	dport = ProtoField.uint16("dlcp.setup.dstport", "DLCP destination port"),
	vmin = ProtoField.uint8("dlcp.version_min", "Lowest version"),
	vmax = ProtoField.uint8("dlcp.version_max", "Highest version"),
	options = ProtoField.uint16("dlcp.setup.options", "Options", base.HEX),
	cookie = ProtoField.bytes("dlcp.setup.cookie", "Cookie"),
	padding = ProtoField.bytes("dlcp.padding", "Padding"),
	-- RESET
	your_tag = ProtoField.uint64("dlcp.reset.tag", "Tag of the offending packet", base.HEX),
	code = ProtoField.uint16("dlcp.reset.code", "Code", base.DEC, codes),
	-- IP protocol 253
	entropy = ProtoField.uint16("dlcp.raw.entropy", "Entropy"),
	raw_zero = ProtoField.uint16("dlcp.raw.zero", "Zero"),
	raw_len = ProtoField.uint16("dlcp.raw.length", "Length"),
	raw_csum = ProtoField.uint16("dlcp.raw.checksum", "Checksum", base.HEX),
	-- what the dissector makes of it
	conn = ProtoField.uint32("dlcp.connection", "Connection"),
	again = ProtoField.framenum("dlcp.analysis.first_sent", "First sent in", base.NONE, frametype.DUP_ACK),
	opened = ProtoField.framenum("dlcp.analysis.opened", "Opened in", base.NONE, frametype.REQUEST),
	completed = ProtoField.framenum("dlcp.analysis.completed", "Completed in", base.NONE, frametype.RESPONSE),
	took = ProtoField.double("dlcp.analysis.time", "Seconds from its first packet to DONE"),
	gap = ProtoField.uint32("dlcp.analysis.gap", "Packet numbers not seen before this one"),
	unseen = ProtoField.uint32("dlcp.analysis.unseen", "Segments not seen before DONE"),
	ranges = ProtoField.string("dlcp.analysis.unseen_segments", "Which"),
	lateseg = ProtoField.bool("dlcp.analysis.late", "After DONE"),
	share = ProtoField.double("dlcp.analysis.missing_share", "Missing share (ppm)"),
}
dlcp.fields = (function()
	local list = {}
	for _, field in pairs(f) do
		list[#list + 1] = field
	end
	return list
end)()

local e = {
	resent = ProtoExpert.new("dlcp.expert.resent", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
	gap = ProtoExpert.new("dlcp.expert.gap", "Packets before this one were not seen", expert.group.SEQUENCE,
		expert.severity.NOTE),
	forgiven = ProtoExpert.new("dlcp.expert.forgiven", "Completed with bytes missing", expert.group.SEQUENCE,
		expert.severity.NOTE),
	late = ProtoExpert.new("dlcp.expert.late", "After its message was complete", expert.group.SEQUENCE,
		expert.severity.NOTE),
	reset = ProtoExpert.new("dlcp.expert.reset", "Reset", expert.group.SEQUENCE, expert.severity.WARN),
	bad = ProtoExpert.new("dlcp.expert.malformed", "Not as the protocol has it: too short, of no type, or a frame that does not fit", expert.group.MALFORMED,
		expert.severity.ERROR),
	cut = ProtoExpert.new("dlcp.expert.cut", "The capture has only a part of it (tcpdump -s)", expert.group.UNDECODED,
		expert.severity.CHAT),
	batch = ProtoExpert.new("dlcp.expert.batch", "Several packets, captured above the card", expert.group.COMMENTS_GROUP,
		expert.severity.CHAT),
}
dlcp.experts = { e.resent, e.gap, e.forgiven, e.late, e.reset, e.bad, e.cut, e.batch }

-- --- what is known of connections; read off packets in their order, once

local pairs_of	-- tag of one end: that of the other
local conns	-- tag: number of its connection
local nr_conns
local messages	-- tag of the receiver .. "/" .. number: what is known of a message
local numbers	-- tag .. "/" .. path: the next packet number
local results	-- frame number .. "/" .. offset in it: what was found out, for later passes

function dlcp.init()
	pairs_of, conns, messages, numbers, results = {}, {}, {}, {}, {}
	nr_conns = 0
end

local function pair(a, b)
	if a == "0000000000000000" or b == "0000000000000000" then
		return
	end
	local nr = conns[a] or conns[b]
	if not nr then
		nr = nr_conns
		nr_conns = nr_conns + 1
	end
	conns[a], conns[b] = nr, nr
	pairs_of[a], pairs_of[b] = b, a
end

-- The message whose receiver has this tag
local function message(tag, msg, pinfo)
	local name = tag .. "/" .. msg
	local m = messages[name]
	if not m then
		m = { segs = {}, first = pinfo.number, begun = pinfo.abs_ts }
		messages[name] = m
	end
	return m
end

-- once(pinfo, at, find): what find() returns in the first pass
local function once(pinfo, at, find)
	local name = pinfo.number .. "/" .. at
	if not pinfo.visited or results[name] == nil then
		results[name] = find() or false
	end
	return results[name]
end

-- Segments 0..nr-1 that are not in `segs`: how many, and as text
local function unseen(segs, nr)
	local list, count, from = {}, 0, nil
	for i = 0, nr do
		local lacks = i < nr and not segs[i]
		if lacks then
			count = count + 1
			from = from or i
		elseif from then
			list[#list + 1] = from == i - 1 and tostring(from) or from .. "-" .. (i - 1)
			from = nil
		end
	end
	return count, table.concat(list, ",")
end

-- --- parts

local function generated(tree, field, ...)
	return tree:add(field, ...):set_generated()
end

local function add_flags(tree, tvb, kind)
	local t = tree:add(f.flags, tvb(9, 1))
	t:add(f.ack_now, tvb(9, 1))
	t:add(f.open, tvb(9, 1))
	t:add(f.resent, tvb(9, 1))
	t:add(f.elicit, tvb(9, 1))
	t:add(f.queued, tvb(9, 1))
	t:add(kind == 7 and f.stray or f.here, tvb(9, 1))
	t:add(f.piece, tvb(9, 1))
	t:add(f.all_sent, tvb(9, 1))
end

local function add_header(tree, tvb)
	local kind = tvb(8, 1):uint()
	tree:add(f.tag, tvb(0, 8))
	tree:add(f.type, tvb(8, 1))
	add_flags(tree, tvb, kind)
	tree:add(f.path, tvb(10, 1))
	local t = tree:add(f.class, tvb(11, 1))
	t:add(f.prio, tvb(11, 1))
	t:add(f.segtag, tvb(11, 1))
	return kind
end

-- 8 .. 15 times a power of two, at most a second
local function silence_ns(code)
	if code == 0 then
		return nil
	end
	return math.min((8 + code % 8) * 2 ^ math.floor(code / 8), 1e9)
end

local function add_open(tree, tvb)
	local t = tree:add(dlcp, tvb, "Open block")
	t:add(f.key, tvb(0, 8))
	t:add(f.length, tvb(8, 8))
	t:add(f.bound, tvb(16, 4))
	t:add(f.deadline, tvb(20, 4))
	t:add(f.critical, tvb(24, 4))
	t:add(f.seg_size, tvb(28, 2))
	t:add(f.elem_size, tvb(30, 2))
	t:add(f.open_prio, tvb(32, 1))
	local flags = t:add(f.open_flags, tvb(33, 1))
	flags:add(f.early_stop, tvb(33, 1))
	flags:add(f.hard, tvb(33, 1))
	flags:add(f.report, tvb(33, 1))
	t:add(f.has_deadline, tvb(34, 1))
	t:add(f.doublings, tvb(34, 1))
	local ns = silence_ns(tvb(35, 1):uint())
	t:add(f.silence, tvb(35, 1)):append_text(ns and string.format(" (%d ns)", ns) or " (not known)")
	t:add(f.group, tvb(36, 4))
end

-- Of a message: length, segment size and so the number of segments
local function note_open(m, tvb, pinfo)
	m.length = tvb(8, 8):uint64():tonumber()
	m.seg_size = tvb(28, 2):uint()
	m.opened = m.opened or pinfo.number
	m.nr_segs = 0
	if m.seg_size > 0 then
		m.nr_segs = math.max(1, math.ceil(m.length / m.seg_size))
	end
end

local function link_message(tree, m, pinfo)
	if m.opened and m.opened ~= pinfo.number then
		generated(tree, f.opened, m.opened)
	end
	if m.done and m.done ~= pinfo.number then
		generated(tree, f.completed, m.done)
	end
end

-- Packet numbers count on each path; a step back is a packet that was overtaken
local function add_pn(tree, tvb, pinfo, at, tag, path, counts)
	local pn = tvb(12, 4):uint()
	local item = tree:add(f.pn, tvb(12, 4))
	if not counts then
		return pn
	end
	local gap = once(pinfo, at .. "pn", function()
		local name = tag .. "/" .. path
		local step = numbers[name] and (pn - numbers[name]) % 2 ^ 32 or 0
		if step < 2 ^ 31 then
			numbers[name] = (pn + 1) % 2 ^ 32
		end
		return step > 0 and step < 2 ^ 31 and step
	end)
	if gap then
		generated(tree, f.gap, gap)
		item:add_proto_expert_info(e.gap, string.format("%d packets before this one were not seen", gap))
	end
	return pn
end

-- --- DATA

-- Where it stands: what was seen of that segment before
local function note_segment(m, pinfo, seg, off)
	local before
	if off == nil then
		before = m.segs[seg]
		m.segs[seg] = before or pinfo.number
	else
		m.pieces = m.pieces or {}
		before = m.pieces[seg .. "/" .. off]
		m.pieces[seg .. "/" .. off] = before or pinfo.number
		m.segs[seg] = m.segs[seg] or pinfo.number
	end
	return { before = before, late = m.done ~= nil }
end

local function mark_segment(tree, item, r)
	if r.before then
		generated(tree, f.again, r.before)
		item:add_proto_expert_info(e.resent)
	end
	if r.late then
		generated(tree, f.lateseg, true)
		item:add_proto_expert_info(e.late)
	end
end

-- Return: bytes of this packet, which may be one of a batch
local function data(tree, tvb, pinfo, at, c)
	local flags, path, tag = tvb(9, 1):uint(), tvb(10, 1):uint(), c.tag
	local has_open, is_piece = flags % 4 >= 2, flags % 128 >= 64
	local len, head = c.reported, 24
	local msg, seg, off = tvb(16, 4):uint(), tvb(20, 4):uint(), nil
	local m = message(tag, msg, pinfo)

	local pn = add_pn(tree, tvb, pinfo, at, tag, path, true)
	tree:add(f.msg, tvb(16, 4))
	local item = tree:add(f.seg, tvb(20, 4))
	if is_piece then
		off = tvb(24, 2):uint()
		tree:add(f.off, tvb(24, 2))
		tree:add(f.reserved, tvb(26, 2))
		head = 28
	elseif has_open then
		head = 64
		add_open(tree, tvb(24, 40))
		note_open(m, tvb(24, 40), pinfo)
	end
	local body = len - head
	if m.seg_size and m.seg_size > 0 and body > m.seg_size then
		body = m.seg_size
		item:add_proto_expert_info(e.batch)
	end
	generated(tree, f.payload_len, body)
	if body > 0 and tvb:len() > head then
		tree:add(f.payload, tvb(head, math.min(body, tvb:len() - head)))
	end
	local r = once(pinfo, at .. "seg", function() return note_segment(m, pinfo, seg, off) end)
	mark_segment(tree, item, r)
	link_message(tree, m, pinfo)
	local text = string.format("DATA msg %d seg %d%s pn %d.%d len %d%s%s%s", msg, seg,
		off and "+" .. off or "", path, pn, body, flags % 8 >= 4 and " resent" or "",
		flags >= 128 and " all-sent" or "", r.late and " late" or "")
	return head + body, text
end

-- --- frames

-- Their number is at `from`, they are at `at`
local function add_words(t, tvb, from, at)
	t:add(f.words, tvb(from, 2))
	for i = 0, tvb(from, 2):uint() - 1 do
		t:add(f.word, tvb(at + 8 * i, 8))
	end
end

local frames = {}

frames[1] = function(t, b)
	t:add(f.ack_path, b(0, 1))
	t:add(f.reserved, b(1, 1))
	add_words(t, b, 2, 24)
	t:add(f.largest, b(4, 4))
	t:add(f.delay, b(8, 4))
	t:add(f.ce, b(12, 4))
	t:add(f.count, b(16, 4))
	t:add(f.time_us, b(20, 4))
	return string.format("%d.%d", b(0, 1):uint(), b(4, 4):uint())
end

frames[2] = function(t, b, pinfo, at, c)
	t:add(f.msg, b(0, 4))
	add_open(t, b(4, 40))
	note_open(message(c.tag, b(0, 4):uint(), pinfo), b(4, 40), pinfo)
	return string.format("msg %d, %s bytes", b(0, 4):uint(), tostring(b(12, 8):uint64()))
end

frames[3] = function(t, b, pinfo, at, c)
	t:add(f.msg, b(0, 4))
	t:add(f.given_up, b(4, 4))
	link_message(t, message(c.tag, b(0, 4):uint(), pinfo), pinfo)
	return string.format("msg %d without %d", b(0, 4):uint(), b(4, 4):uint())
end

frames[4] = function(t, b)
	t:add(f.msg, b(0, 4))
	t:add(f.first_word, b(4, 4))
	add_words(t, b, 8, 12)
	t:add(f.reserved, b(10, 2))
	return string.format("msg %d", b(0, 4):uint())
end

-- What the receiver did without: of those never seen, if the capture has them all
local function note_done(m, pinfo, nr_missing)
	if m.done then
		return m.result
	end
	m.done = pinfo.number
	m.result = { time = (pinfo.abs_ts - m.begun) }
	if m.nr_segs then
		m.result.unseen, m.result.ranges = unseen(m.segs, m.nr_segs)
		m.result.exact = m.result.unseen == nr_missing
	end
	return m.result
end

frames[5] = function(t, b, pinfo, at, c)
	local msg, nr, why = b(0, 4):uint(), b(4, 4):uint(), b(16, 1):uint()
	t:add(f.msg, b(0, 4))
	t:add(f.missing_segs, b(4, 4))
	local item = t:add(f.missing, b(8, 8))
	t:add(f.why, b(16, 1))
	local flags = t:add(f.done_flags, b(17, 1))
	flags:add(f.below, b(17, 1))
	flags:add(f.late, b(17, 1))
	t:add(f.reserved, b(18, 2))
	if nr > 0 then
		item:add_proto_expert_info(e.forgiven,
			string.format("%d segments missing: %s", nr, reasons[why] or "?"))
	end
	-- It goes to the message's sender; the message is known by its receiver's tag
	if c.peer then
		local m = message(c.peer, msg, pinfo)
		local r = once(pinfo, at .. "done", function() return note_done(m, pinfo, nr) end)
		generated(t, f.took, r.time)
		if m.length and m.length > 0 then
			generated(t, f.share, b(8, 8):uint64():tonumber() / m.length * 1e6)
		end
		if r.unseen then
			generated(t, f.unseen, r.unseen)
		end
		if r.exact and nr > 0 then
			generated(t, f.ranges, r.ranges)
		end
		link_message(t, m, pinfo)
	end
	return string.format("msg %d%s", msg, nr > 0 and
		string.format(" without %d segments (%s)", nr, reasons[why] or "?") or "")
end

frames[6] = function(t, b)
	t:add(f.msg, b(0, 4))
	return string.format("msg %d", b(0, 4):uint())
end

frames[7] = function(t, b)
	t:add(f.msg, b(0, 4))
	t:add(f.from_word, b(4, 4))
	return string.format("msg %d from %d", b(0, 4):uint(), b(4, 4):uint())
end

frames[8] = function(t, b)
	t:add(f.msg, b(0, 4))
	t:add(f.credit, b(4, 8))
	return string.format("msg %d to %s", b(0, 4):uint(), tostring(b(4, 8):uint64()))
end

frames[9] = function(t, b)
	t:add(f.max_msg, b(0, 4))
	t:add(f.unsolicited, b(4, 8))
end

frames[10] = function(t, b)
	t:add(f.nr_msgs, b(0, 4))
	return string.format("after %d messages", b(0, 4):uint())
end

frames[11] = function(t, b)
	local rate = b(0, 4):uint()
	t:add(f.rate, b(0, 4)):append_text(rate == 0 and " (no limit)" or
		string.format(" (%.3f Gbit/s)", rate * 8 / 1e6))
end

frames[12] = function(t, b)
	t:add(f.family, b(0, 1))
	t:add(f.reserved, b(1, 3))
	for i = 0, 3 do
		local is_set = b(4 + 16 * i, 16):bytes():tohex() ~= string.rep("0", 32)
		if is_set and b(0, 1):uint() == 4 then
			t:add(f.rail4, b(4 + 16 * i, 4))
		elseif is_set then
			t:add(f.rail6, b(4 + 16 * i, 16))
		end
	end
end

frames[13] = function(t, b)
	t:add(f.token, b(0, 8))
end
frames[14] = frames[13]

frames[15] = function(t, b, pinfo, at, c)
	t:add(f.msg, b(0, 4))
	t:add(f.wait, b(4, 4))
	link_message(t, message(c.tag, b(0, 4):uint(), pinfo), pinfo)
	return string.format("msg %d", b(0, 4):uint())
end

-- The packet ends after so many bytes, and DATA follows in the same datagram
frames[16] = function(t, b)
	t:add(f.front, b(0, 2))
end

local function ends_at(tvb)
	local len = tvb:len()
	if len < 24 or tvb(16, 1):uint() ~= 16 or tvb(18, 2):uint() ~= 8 then
		return len
	end
	local front = tvb(20, 2):uint()
	return front >= 24 and front < len and front or len
end

-- Frames have a length of their own, so that those of later versions can be skipped
local function ctrl(tree, tvb, pinfo, at, c)
	local counts = tvb(9, 1):uint() % 16 >= 8
	local pn = add_pn(tree, tvb, pinfo, at, c.tag, tvb(10, 1):uint(), counts)
	local off, len, texts = 16, ends_at(tvb), {}
	while off + 4 <= len do
		local kind, flen = tvb(off, 1):uint(), tvb(off + 2, 2):uint()
		if flen < 4 or flen % 4 ~= 0 or off + flen > len then
			local cut = c.reported > len
			tree:add(f.unknown, tvb(off, len - off)):add_proto_expert_info(cut and e.cut or e.bad)
			return len, cut and "CTRL cut" or "CTRL malformed"
		end
		local name = frame_types[kind] or "frame " .. kind
		local t = tree:add(f.frame, tvb(off, flen)):set_text("Frame: " .. name)
		t:add(f.ftype, tvb(off, 1))
		local flags = t:add(f.fflags, tvb(off + 1, 1))
		if name == "OPEN" then
			flags:add(f.covered, tvb(off + 1, 1))
		end
		t:add(f.flen, tvb(off + 2, 2))
		local text
		if frames[kind] then
			text = frames[kind](t, tvb(off + 4, flen - 4):tvb(), pinfo, at .. "/" .. off, c)
		elseif flen > 4 then
			t:add(kind == 0 and f.padding or f.unknown, tvb(off + 4, flen - 4))
		end
		texts[#texts + 1] = text and name .. " " .. text or name
		off = off + flen
	end
	return len, string.format("CTRL %s%s", counts and string.format("pn %d.%d ", tvb(10, 1):uint(), pn) or "",
		#texts > 0 and table.concat(texts, ", ") or "probe")
end

-- --- set-up, and its end

-- The sender's tag comes second; the receiver's, in the header, is zero in INIT
local function setup(tree, tvb, pinfo, kind, tag)
	local mine = tvb(12, 8):bytes():tohex()
	tree:add(f.my_tag, tvb(12, 8))
	tree:add(f.sport, tvb(20, 2))
	tree:add(f.dport, tvb(22, 2))
	tree:add(f.vmin, tvb(24, 1))
	tree:add(f.vmax, tvb(25, 1))
	tree:add(f.options, tvb(26, 2))
	if kind == 5 or kind == 6 then
		tree:add(f.max_msg, tvb(28, 4))
		tree:add(f.unsolicited, tvb(32, 8))
	elseif tvb:len() >= 40 then
		tree:add(f.reserved, tvb(28, 12))
	end
	if kind == 4 or kind == 5 then
		tree:add(f.cookie, tvb(40, 48))
	end
	local from = (kind == 4 or kind == 5) and 88 or 40
	if tvb:len() > from then
		tree:add(f.padding, tvb(from))
	end
	if not pinfo.visited then
		pair(mine, tag)
	end
	return tvb:len(), string.format("%s %d -> %d", types[kind], tvb(20, 2):uint(), tvb(22, 2):uint())
end

local function reset(tree, tvb)
	tree:add(f.your_tag, tvb(12, 8))
	local item = tree:add(f.code, tvb(20, 2))
	tree:add(f.vmin, tvb(22, 1))
	tree:add(f.vmax, tvb(23, 1))
	item:add_proto_expert_info(e.reset)
	return tvb:len(), "RESET " .. (codes[tvb(20, 2):uint()] or "?")
end

-- Bytes that a packet has at least: its type says, and the flags of DATA
local least = { 24, 16, 128, 88, 128, 40, 24 }

local function needs(tvb)
	local kind, flags = tvb(8, 1):uint(), tvb(9, 1):uint()
	if kind ~= 1 then
		return least[kind]
	end
	return flags % 128 >= 64 and 28 or flags % 4 >= 2 and 60 or 24
end

-- One packet of `reported` bytes, of which the capture may have fewer. Return: its bytes, and a
-- line about it
local function packet(tvb, reported, pinfo, root, at)
	local tree = root:add(dlcp, tvb())
	if tvb:len() < 12 or not types[tvb(8, 1):uint()] or tvb:len() < needs(tvb) then
		local cut = reported > tvb:len()
		tree:add(f.unknown, tvb()):add_proto_expert_info(cut and e.cut or e.bad)
		return reported, cut and "cut" or "malformed"
	end
	local kind, tag = add_header(tree, tvb), tvb(0, 8):bytes():tohex()
	local c = { tag = tag, peer = pairs_of[tag], reported = reported }
	local len, text
	if kind == 1 then
		len, text = data(tree, tvb, pinfo, at, c)
	elseif kind == 2 then
		len, text = ctrl(tree, tvb, pinfo, at, c)
	elseif kind == 7 then
		len, text = reset(tree, tvb)
	else
		len, text = setup(tree, tvb, pinfo, kind, tag)
	end
	if conns[tag] then
		generated(tree, f.conn, conns[tag])
	end
	tree:append_text(", " .. text)
	if len < tvb:len() then
		tree:set_len(len)
	end
	return len, text
end

function dlcp.dissector(tvb, pinfo, root)
	local off, texts = 0, {}
	pinfo.cols.protocol = "DLCP"
	local reported = tvb:reported_len()
	while off < tvb:len() do
		local len, text = packet(tvb(off):tvb(), reported - off, pinfo, root, off)
		texts[#texts + 1] = text
		off = off + len
	end
	pinfo.cols.info = table.concat(texts, "; ")
	return tvb:len()
end

-- --- where it is looked for

-- IP protocol 253: a header laid out as UDP's comes first
local raw = Proto("dlcp_raw", "DLCP in IP protocol 253")

function raw.dissector(tvb, pinfo, root)
	if tvb:len() < 8 then
		return 0
	end
	local tree = root:add(raw, tvb(0, 8))
	tree:add(f.entropy, tvb(0, 2))
	tree:add(f.raw_zero, tvb(2, 2))
	tree:add(f.raw_len, tvb(4, 2))
	tree:add(f.raw_csum, tvb(6, 2))
	return 8 + dlcp.dissector(tvb(8):tvb(), pinfo, root)
end

local udp = DissectorTable.get("udp.port")
local port

local function listen()
	if port then
		udp:remove(port, dlcp)
	end
	port = dlcp.prefs.port
	udp:add(port, dlcp)
end

dlcp.prefs_changed = listen
listen()
DissectorTable.get("ip.proto"):add(253, raw)
