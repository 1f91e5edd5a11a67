import { optional, paging, required, text, whole } from '../parameters.ts';
import type { Json } from '../json.ts';
import { Refusal } from '../refusal.ts';
import { usersOf } from '../seed.ts';
import { DAY_MS } from '../time.ts';
import { type Context, operation, pageOf, userNamed } from './operation.ts';

const TOKEN_SECONDS = 7200;
const REFRESHABLE_MS = 30 * DAY_MS;

/** Section 4.1. A code works once. */
export const exchangeCode = operation(
  {
    path: 'auth/token',
    parameters: { code: required(text) },
  },
  ({ code }, context) => {
    const found = context.state.codes.find((each) => each.code === code);
    if (found === undefined) throw new Refusal('10020', 'code is not one that a login gave');
    if (found.used) throw new Refusal('60003', 'code was already used');
    found.used = true;
    return issueToken(context, found.uid);
  },
);

/** The tokens that were given before end. */
export const refreshToken = operation(
  {
    path: 'auth/refreshToken',
    parameters: { refreshToken: required(text), token: required(text), openId: required(text) },
  },
  ({ refreshToken: refresh, token, openId }, context) => {
    const { uid } = userNamed(context.state, { openId });
    const found = context.state.tokens.find((each) => each.uid === uid && each.refreshToken === refresh);
    if (found === undefined || context.nowMs > found.refreshableUntilMs) {
      throw new Refusal('60001', 'refreshToken is unknown, replaced or expired');
    }
    if (found.token !== token) throw new Refusal('60002', 'token does not belong to refreshToken');
    return issueToken(context, uid);
  },
);

function issueToken({ state, nowMs, random }: Context, uid: number): Json {
  const { openId } = userNamed(state, { uid });
  const own = random('token', uid, state.nextId++);
  const issued = {
    uid,
    token: own.hex(32),
    refreshToken: own.hex(32),
    refreshableUntilMs: nowMs + REFRESHABLE_MS,
  };
  state.tokens = [...state.tokens.filter((each) => each.uid !== uid), issued];
  return {
    openId,
    expireIn: String(TOKEN_SECONDS),
    refreshToken: issued.refreshToken,
    token: issued.token,
  };
}

/** Section 4.15. */
export const exchangeToken = operation(
  {
    path: 'user/getExchangeToken',
    parameters: { apiKey: required(text), secret: required(text), uid: required(whole()) },
  },
  ({ apiKey, secret, uid }, { state, nowMs, random }) => {
    const user = userNamed(state, { uid });
    if (user.apiKey !== apiKey || user.secret !== secret) {
      throw new Refusal('50012', 'apiKey and secret are not those of this user');
    }
    return { uid, inviteCode: user.inviteCode, token: random('exchange', uid, nowMs).hex(32) };
  },
);

/** Section 4.6. `uid` takes priority. */
export const invitations = operation(
  {
    path: 'user/user_invite',
    parameters: {
      openId: optional(text),
      uid: optional(whole()),
      emailOrPhone: optional(text),
      ...paging(100),
    },
  },
  ({ openId, uid, emailOrPhone, ...asked }, context) => {
    const users = usersOf(context.state);
    const named =
      uid !== undefined
        ? { uid }
        : openId !== undefined
          ? { openId }
          : { [emailOrPhone?.includes('@') === true ? 'email' : 'mobileNumber']: emailOrPhone };
    const user = userNamed(context.state, named);
    const invitedBy = (inviter: number) => users.filter((each) => each.invitedUid === inviter);
    const entry = (invited: (typeof users)[number], inviter: typeof user, level: number) => ({
      uid: invited.uid,
      nickname: invited.nickname,
      inviteCode: invited.inviteCode,
      level,
      invitedUid: inviter.uid,
      invitedNickname: inviter.nickname,
      invitedCode: inviter.inviteCode,
      phone: invited.mobileNumber,
      email: invited.email,
      ctime: context.zone.textOf(invited.createdAtMs),
    });
    const levelOne = invitedBy(user.uid);
    const inviter = users.find((each) => each.uid === user.invitedUid);
    return {
      levelOneCount: levelOne.length,
      levelTwoCount: levelOne.reduce((sum, each) => sum + invitedBy(each.uid).length, 0),
      cuerrentUser: {
        uid: user.uid,
        nickname: user.nickname,
        inviteCode: user.inviteCode,
        invitedUid: user.invitedUid,
        invitedCode: inviter?.inviteCode ?? '',
        ctime: context.zone.textOf(user.createdAtMs),
      },
      userExtInviteVoList: pageOf(levelOne, asked).map((each) => ({
        ...entry(each, user, 1),
        childLevel: invitedBy(each.uid).map((child) => entry(child, each, 2)),
      })),
    };
  },
);
