-- Settles one question about one subject, in the numbered steps of SettleResult in src/store/store.ts.
--
-- KEYS 1 control, 2 subject, 3 journal, 4 lists, then those of each claim in order: its list, its counter, its
--      mark, its order, for a speed-up the subject again, a counter of values and their marks, the refusals
--      of a key and the lock-outs of the source, or an approval request and the open ones of the source
-- ARGV 1 clock, 2 journal retention ms, 3 subject retention ms, 4 subject, 5 terms, 6 question, 7 speed-up (1
--      or 0), 8 revision, 9 valid from ms, 10 valid until ms, 11 approves (1 or 0), 12 refusal code, 13
--      whether the proposal's refusal is retryable (1 or 0), 14 version of the prices (0: it does not depend
--      on them), 15 detail, 16 epoch that the caller knows, 17 field of its high-water mark, 18 its high-water
--      mark or empty (see data-loss.ts), 19 scheme or empty, 20 whether the proposal's refusal counts for
--      no lock-out (1 or 0), 21 choices as JSON or empty (see below), 22 the field `frozen` that it was evaluated
--      for (see include/frozen.lua), then for each claim its header: kind, decides (1 or 0), whether its refusal
--      is retryable (1 or 0), whether it is made only because something failed (1 or 0), and the parameters of the
--      kind, with blanks between; then the claim's texts, an argument each (see include/claims.lua)
--      A retryable refusal is decided again each time. Any other is repeated until the revision or a list
--      changes
-- Returns {lost, gone | other | behind} | {jumped, ms that the clock is ahead, now ms}
--      | {stale, revision in force, now ms} | {expired, now ms}
--      | {decided, request key, id, verdict, code, claims}
--      | {repeated, request key, id, verdict, code, claims, of}
--      where the request key is KEYS 2, ARGV 5, 6 and 7 with blanks between, by which the caller knows that
--      the reply is its own
--- @include journal
--- @include claims

local effects = {}

function effects.append(entry, entries, step, fields)
  local mark = entry.verdict == 'SUCCESS' and ARGV[17]
  local id = journal_append(KEYS[3], KEYS[1], step.now, ARGV[2], entry, mark)
  journal_about(KEYS[2], entries, id, ARGV[3], fields and fields(id))
  return id
end

function effects.reserve(claims, step, fields, entry)
  for _, claim in ipairs(claims) do
    if not claim.left_out and claim.kind.reserve then claim.kind.reserve(claim, step, fields, entry) end
  end
  return fields
end

function effects.refuse(claim, step)
  claim.kind.count_refusal(claim, step)
end

--- @include settlement
