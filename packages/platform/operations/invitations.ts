import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { page, pageSize, phrase, word } from '../parameters.ts';
import { count, fields, id, integer, list, note, orNull, record, stamp } from '../readings.ts';

const invited = {
  uid: id,
  nickname: note,
  inviteCode: note,
  level: integer.describe('1, or 2 for an element of childLevel.'),
  invitedUid: id,
  ...fields(note, 'invitedNickname invitedCode phone email'),
  ctime: stamp,
};

/** Section 2.5, in the platform's spelling. */
const invitedUser = record({ ...invited, childLevel: orNull(list(record(invited))) });

const relationship = record({
  levelOneCount: count,
  levelTwoCount: count,
  cuerrentUser: record({
    uid: id,
    nickname: note,
    inviteCode: note,
    invitedUid: id.describe('-1 if nobody invited the user.'),
    invitedCode: note,
    ctime: stamp,
  }),
  userExtInviteVoList: list(invitedUser),
});

export const invitations = defineOperation({
  section: '4.6',
  name: 'invitations.list',
  command: 'invitations',
  path: 'user/user_invite',
  summary: 'List the users whom a user invited, on two levels.',
  notes: ['uid takes priority over openId and emailOrPhone.'],
  parameters: z.strictObject({
    openId: word.optional().describe('The openId of the user.'),
    uid: word.optional().describe('The UID of the user.'),
    emailOrPhone: phrase.optional().describe('The mobile phone number or e-mail address of the user.'),
    page,
    // No maximum is documented; this is the one of the other operations. The platform may give fewer.
    pageSize: pageSize(100, 1000),
  }),
  example: { uid: '12345' },
  data: relationship,
  record: invitedUser,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.userExtInviteVoList,
    least: (data) => data.levelOneCount,
    key: (each) => each.uid,
  },
});
