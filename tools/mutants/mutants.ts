/** A change of one place of the source that must be noticed: each of them would lose somebody's money. */
export interface Mutant {
  /** What the changed program does wrong. */
  readonly name: string;
  readonly file: string;
  /** Appears once in the file. */
  readonly from: string;
  readonly to: string;
  /** Test files of which at least one test must fail. */
  readonly caughtBy: readonly string[];
}

const EMBEDDED = 'test/store/embedded.test.ts';
const REDIS = 'test/store/redis.test.ts';
const PAYMENTS = 'test/signature/authenticate-payment.test.ts';
const COSIGNERS = 'test/signature/authenticate-cosigner.test.ts';
const APPROVALS = 'test/approvals/callbacks.test.ts';
const TRUST = 'test/release/trust.test.ts';
const ORDERS = 'test/scenarios/people-approve-orders.test.ts';

export const MUTANTS: readonly Mutant[] = [
  // Bytes to callback
  {
    name: 'a member twice counts with its last value',
    file: 'src/values/members.ts',
    from: 'if (members.has(name)) {',
    to: 'if (members.has(name) && members.size < 0) {',
    caughtBy: ['test/values/members.test.ts'],
  },
  {
    name: 'an amount loses its last decimal place',
    file: 'src/values/amount.ts',
    from: 'return BigInt(digits) * tenTo(AMOUNT_SCALE - scale);',
    to: 'return scale === AMOUNT_SCALE ? BigInt(digits) - 1n : BigInt(digits) * tenTo(AMOUNT_SCALE - scale);',
    caughtBy: ['test/values/amount.test.ts'],
  },
  {
    name: 'outputs need not sum to the amount',
    file: 'src/callback/transfer.ts',
    from: 'if (sum !== amount) {',
    to: 'if (sum > amount) {',
    caughtBy: ['test/callback/parse.test.ts', 'test/policy/rules/outputs.test.ts'],
  },
  // Who sent it
  {
    name: 'each md5 signature holds',
    file: 'src/signature/md5.ts',
    from: 'equalInConstantTime(signOf(text, secret), sign.toLowerCase());',
    to: 'equalInConstantTime(sign, sign) || signOf(text, secret) === sign;',
    caughtBy: [PAYMENTS],
  },
  {
    name: 'a signed text with two readings holds',
    file: 'src/signature/payments.ts',
    from: 'return ambiguous ?? { ...content, source, scheme, by: verifier.by };',
    to: 'return { ...content, source, scheme, by: verifier.by };',
    caughtBy: [PAYMENTS, 'test/signature/ambiguity.test.ts'],
  },
  {
    name: 'an envelope may name another source',
    file: 'src/signature/rsa-envelope.ts',
    from: "const inner = decoded.members.get('appKey') ?? stringMember(appKey);",
    to: 'const inner = stringMember(appKey);',
    caughtBy: ['test/signature/envelope.test.ts', PAYMENTS],
  },
  {
    name: 'one credential of several is enough',
    file: 'src/signature/credentials.ts',
    from: 'if (presented !== undefined) return presented;',
    to: "if (value !== undefined) return presentedBy('header');",
    caughtBy: [COSIGNERS],
  },
  {
    name: 'each address may call',
    file: 'src/signature/credentials.ts',
    from: 'includes(address)\n        ? presented',
    to: 'includes(address) || ranges.length > 0\n        ? presented',
    caughtBy: [COSIGNERS],
  },
  {
    name: 'an unauthenticated sender gets the verdict',
    file: 'src/pipeline/pipeline.ts',
    from: "answerOf(source === undefined ? 'FAILURE' : verdict,",
    to: "answerOf(source === undefined ? 'SUCCESS' : verdict,",
    caughtBy: ['test/scenarios/impossible-1-unauthentic-callback-approved.test.ts'],
  },
  // Who signed a statement
  {
    name: 'an SSH signature for another namespace holds',
    file: 'src/signature/sshsig.ts',
    from: 'if (!signedFor.equals(Buffer.from(namespace))) {',
    to: 'if (signedFor.length === 0) {',
    caughtBy: ['test/signature/sshsig.test.ts'],
  },
  {
    name: 'an SSH signature may use the algorithm of another type of key',
    file: 'src/signature/sshsig.ts',
    from: 'if (algorithm?.key !== key.type) {',
    to: 'if (algorithm === undefined) {',
    caughtBy: ['test/signature/sshsig.test.ts'],
  },
  {
    name: 'a security key need not be touched',
    file: 'src/signature/sshsig.ts',
    from: 'if ((flags & USER_PRESENT) === 0) {',
    to: 'if (flags > 255) {',
    caughtBy: ['test/signature/sshsig.test.ts'],
  },
  {
    name: 'text after the base64 of an SSH signature is ignored',
    file: 'src/signature/sshsig.ts',
    from: "if (bytes.toString('base64') === text) return bytes;",
    to: 'if (text !== undefined) return bytes;',
    caughtBy: ['test/signature/sshsig.test.ts'],
  },
  {
    name: 'a signature by another passkey holds',
    file: 'src/signature/passkey-statement.ts',
    from: 'if (answer.id !== passkey.id) throw',
    to: "if (answer.id === '') throw",
    caughtBy: ['test/signature/passkey-statement.test.ts'],
  },
  {
    name: 'a passkey signs for a person whom its device does not know',
    file: 'src/signature/passkey-statement.ts',
    from: 'requireUserVerification: true,',
    to: 'requireUserVerification: false,',
    caughtBy: ['test/signature/passkey-statement.test.ts'],
  },
  // Policies
  {
    name: 'the maximum itself is too much',
    file: 'src/policy/rules/amount-limit.ts',
    from: 'amount > max.amount',
    to: 'amount >= max.amount',
    caughtBy: ['test/policy/rules/amount-limit.test.ts'],
  },
  {
    name: 'an amount a little above the maximum passes',
    file: 'src/policy/rules/amount-limit.ts',
    from: 'amount > max.amount',
    to: 'amount > max.amount + 1n',
    caughtBy: ['test/policy/rules/amount-limit.test.ts'],
  },
  {
    name: 'an unlimited amount passes a maximum',
    file: 'src/policy/rules/amount-limit.ts',
    from: "if (amount === 'unlimited') return refuse('the amount is unlimited', values);",
    to: "if (amount === 'unlimited') return pass('the amount is unlimited', values);",
    caughtBy: ['test/policy/rules/amount-limit.test.ts'],
  },
  {
    name: 'a rule that throws passes',
    file: 'src/policy/evaluate.ts',
    from: 'return { ...refuse(`the rule failed: ${messageOf(thrown)}`), retryable: true, failed: true };',
    to: "return { ...refuse(`the rule failed: ${messageOf(thrown)}`), verdict: 'pass' };",
    caughtBy: ['test/policy/evaluate.test.ts'],
  },
  {
    name: 'a rule that only observes covers',
    file: 'src/policy/evaluate.ts',
    from: "applies.state === 'met' && entry.mode === 'enforce' ? each",
    to: "applies.state === 'met' ? each",
    caughtBy: ['test/policy/evaluate.test.ts', 'test/policy/language/conditions.test.ts'],
  },
  {
    name: 'an unknown condition is not met',
    file: 'src/policy/evaluate.ts',
    from: "if (applies.state === 'unmet') return depending(ABSENT, applies);",
    to: "if (applies.state === 'unmet' || applies.state === 'unknown') return depending(ABSENT, applies);",
    caughtBy: ['test/policy/language/conditions.test.ts', 'test/policy/evaluate.test.ts'],
  },
  {
    name: 'an alternative holds although one of its rules refuses',
    file: 'src/policy/evaluate.ts',
    from: "if (part.state === 'fails' || state === 'absent') state = part.state;",
    to: "if (state === 'absent') state = part.state;",
    caughtBy: ['test/policy/alternatives.test.ts'],
  },
  {
    name: 'a rule decides otherwise than its page says',
    file: 'src/policy/rules/amount-limit.ts',
    from: 'amount > max.amount',
    to: 'amount > 2n * max.amount',
    caughtBy: ['test/scenarios/rules-on-both-stores.test.ts'],
  },
  // The embedded store
  {
    name: 'a freeze is missed (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: "if (isFrozen) return refusal(nowMs, 'FROZEN');",
    to: "if (isFrozen && nowMs < 0) return refusal(nowMs, 'FROZEN');",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a revision no longer in force decides (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: 'if (request.revision !== revision ||',
    to: 'if ((request.revision !== revision && nowMs < 0) ||',
    caughtBy: [EMBEDDED],
  },
  {
    name: 'changed terms are decided anew (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: 'subject.terms !== request.terms)',
    to: "subject.terms === '')",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a released approval is approved again (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: 'if (subject?.released !== undefined) return',
    to: 'if (subject?.released === null) return',
    caughtBy: [EMBEDDED],
  },
  {
    name: 'an approval is repeated although it is refused now (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: "if (before.verdict === 'SUCCESS') return approves;",
    to: "if (before.verdict === 'SUCCESS') return true;",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a claim is dropped (embedded)',
    file: 'src/store/embedded/claims.ts',
    from: 'claims[at]?.decides === true',
    to: 'at > 0 && claims[at]?.decides === true',
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a deny-list holds if it has one of two addresses (embedded)',
    file: 'src/store/embedded/claims.ts',
    from: "const wanted = must === 'hold-all' ? values.length : 0;",
    to: "const wanted = must === 'hold-all' ? values.length : Math.min(present.length, values.length - 1);",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a cancelled order agrees (embedded)',
    file: 'src/store/embedded/claims.ts',
    from: "return order.state === 'expected' ? 'agrees' : order.state;",
    to: "return order.state === 'expected' || order.state === 'cancelled' ? 'agrees' : order.state;",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a used order agrees for whoever comes (embedded)',
    file: 'src/store/embedded/claims.ts',
    from: "if (order.state === 'used') return usesOrder ? 'agrees' : 'used';",
    to: "if (order.state === 'used') return 'agrees';",
    caughtBy: ['test/store/embedded-retention.test.ts'],
  },
  // Redis
  {
    name: 'a freeze is missed (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: "if in_force[1] and frozen_all(in_force[3]) then return refuse('FROZEN') end",
    to: "if in_force[1] and in_force[3] == 'never' then return refuse('FROZEN') end",
    caughtBy: [REDIS],
  },
  {
    name: 'a freeze except what people approve is missed (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: ' or in_force[3] ~= only_approved then',
    to: ' then',
    caughtBy: [REDIS],
  },
  {
    name: 'a freeze except what people approve is missed (embedded)',
    file: 'src/store/embedded/settle.ts',
    from: ' || request.onlyApproved !== onlyApproved) {',
    to: ') {',
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a revision no longer in force decides (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: 'if in_force[2] ~= revision or prices',
    to: 'if not in_force[2] or prices',
    caughtBy: [REDIS],
  },
  {
    name: 'changed terms are decided anew (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: 'if known_terms and known_terms ~= terms then',
    to: "if known_terms and known_terms == '' then",
    caughtBy: [REDIS],
  },
  {
    name: 'another scheme may repeat (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: "if known_scheme and scheme ~= '' and known_scheme ~= scheme then",
    to: "if known_scheme and scheme == 'none' and known_scheme ~= scheme then",
    caughtBy: [REDIS],
  },
  {
    name: 'a claim is dropped (Redis)',
    file: 'src/store/redis/scripts/include/settlement.lua',
    from: 'if not claim.optional and not check(index) and claim.decides then',
    to: 'if not claim.optional and not check(index) and claim.decides and index > 1 then',
    caughtBy: [REDIS],
  },
  {
    name: 'a sum loses its carry (Redis)',
    file: 'src/store/redis/scripts/include/amount.lua',
    from: 'if value >= BASE then value, carry = value - BASE, 1 end',
    to: 'if value >= BASE then value, carry = value - BASE, 0 end',
    caughtBy: [REDIS, 'test/store/redis-claims.test.ts'],
  },
  {
    name: 'amounts of more than 15 digits compare as their first digits (Redis)',
    file: 'src/store/redis/scripts/include/amount.lua',
    from: 'if x ~= y then return tonumber(x) < tonumber(y) end',
    to: 'if x ~= y then return true end',
    caughtBy: [REDIS, 'test/store/redis-claims.test.ts'],
  },
  {
    name: 'a list entry is old at once (Redis)',
    file: 'src/store/redis/scripts/include/claim_lists.lua',
    from: 'if tonumber(at) <= step.now - claim.age_ms then old = old + 1 end',
    to: 'if tonumber(at) <= step.now then old = old + 1 end',
    caughtBy: [REDIS],
  },
  {
    name: 'a used order agrees for whoever comes (Redis)',
    file: 'src/store/redis/scripts/include/claim_order.lua',
    from: "claim.in_use = order.state == 'used' and order.ended == claim.known",
    to: "claim.in_use = order.state == 'used'",
    caughtBy: ['test/store/redis-claims.test.ts'],
  },
  // What people approve and sign
  {
    name: 'a changed request approves (embedded)',
    file: 'src/store/embedded/claims.ts',
    from: "return request.version === version ? 'current' : 'changed';",
    to: "return 'current';",
    caughtBy: [EMBEDDED],
  },
  {
    name: 'a changed request approves (Redis)',
    file: 'src/store/redis/scripts/include/claim_approval.lua',
    from: "return request.version == claim.version and 'current' or 'changed'",
    to: "return 'current'",
    caughtBy: [REDIS],
  },
  {
    name: 'a used request approves another subject (Redis)',
    file: 'src/store/redis/scripts/include/claim_approval.lua',
    from: "if request.used ~= '' and request.used ~= claim.known then return 'used' end",
    to: '',
    caughtBy: [REDIS],
  },
  {
    name: 'people have approved other terms',
    file: 'src/approvals/callbacks.ts',
    from: "request.kind === 'callback' && callbackStatement(deployment, callback, request) === request.statement;",
    to: "request.kind === 'callback';",
    caughtBy: [APPROVALS],
  },
  {
    name: 'a rejected request approves',
    file: 'src/approvals/callbacks.ts',
    from: "if (state !== 'pending' && state !== 'done') {",
    to: "if (state === 'expired') {",
    caughtBy: [APPROVALS],
  },
  {
    name: 'who made a request approves it',
    file: 'src/approvals/signers.ts',
    from: '[person, `console:${person}`].includes',
    to: '[`console:${person}`].includes',
    caughtBy: [APPROVALS],
  },
  {
    name: 'one person with two keys is two',
    file: 'src/approvals/signers.ts',
    from: 'if (signers.some(({ person }) => person === signer.person.name)) {',
    to: 'if (signers.some(({ person }) => person === signer.key)) {',
    caughtBy: [TRUST],
  },
  {
    name: 'a callback differs from the order that people approved',
    file: 'src/policy/order-members.ts',
    from: "if (differs.length === 0) return '';",
    to: "if (differs.length < 2) return '';",
    caughtBy: [ORDERS],
  },
  {
    name: 'the approval of a cancelled order counts',
    file: 'src/policy/rules/approval.ts',
    from: 'given.order === true',
    to: 'given.order === undefined && false',
    caughtBy: [ORDERS],
  },
  {
    name: 'one of a group is enough',
    file: 'src/policy/rules/approval.ts',
    from: 'if (approvers.length < quorum)',
    to: 'if (approvers.length < 1)',
    caughtBy: ['test/policy/rules/approval.test.ts'],
  },
  {
    name: 'a signature for another deployment holds',
    file: 'src/signature/sshsig.ts',
    from: 'if (!signedFor.equals(Buffer.from(namespace))) {',
    to: 'if (signedFor.length === 0) {',
    caughtBy: ['test/signature/sshsig.test.ts'],
  },
  {
    name: 'an older signed revision is followed',
    file: 'src/release/trust.ts',
    from: 'if (serial < least) {',
    to: 'if (serial < least - 1) {',
    caughtBy: [TRUST],
  },
  {
    name: 'one signature too few is enough for policies',
    file: 'src/release/trust.ts',
    from: 'const needed = mayTighten && onlyTightens(before, document) ? tighten : threshold;',
    to: 'const needed = mayTighten ? tighten : threshold - 1;',
    caughtBy: [TRUST],
  },
  {
    name: 'one person loosens alone',
    file: 'src/policy/people.ts',
    from: 'export const SIGNERS_NEEDED = 2;',
    to: 'export const SIGNERS_NEEDED = 1;',
    caughtBy: ['test/scenarios/two-people-loosen.test.ts'],
  },
  // The answer
  {
    name: 'an approval is answered after the time-out',
    file: 'src/pipeline/pipeline.ts',
    from: 'if (outcome !== undefined && trace.elapsedMs() <= answerTimeoutMs) {',
    to: 'if (outcome !== undefined) {',
    caughtBy: ['test/pipeline/no-yes-after-the-time-out.test.ts'],
  },
  // What operators hear of
  {
    name: 'an alarm of changed terms is silent',
    file: 'deploy/prometheus/alerts.yaml',
    from: 'sum by (code) (increase(countersign_alarms_total{code="TERMS_CHANGED"}[10m])) > 0',
    to: 'sum by (code) (increase(countersign_alarms_total{code="TERMS_CHANGED"}[10m])) > 9',
    caughtBy: ['test/deploy/alerts.test.ts'],
  },
];
