// Sends a payment confirmation: node docs/callbacks/send.mjs SCHEME NAME=VALUE...
import { constants, createHash, publicEncrypt, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';

const read = (name) => readFileSync(`config/demo/${name}`, 'utf8').trim();
const md5Hex = (data) => createHash('md5').update(data).digest('hex');
const signRsa = (text) =>
  sign('sha256', Buffer.from(text), read('platform.private.pem')).toString('base64url');

function encryptRsa(plaintext) {
  const key = { key: read('merchant.public.pem'), padding: constants.RSA_PKCS1_PADDING };
  const blocks = [];
  for (let at = 0; at < plaintext.length; at += 245)
    blocks.push(publicEncrypt(key, plaintext.subarray(at, at + 245)));
  return Buffer.concat(blocks).toString('base64url');
}

// The default order of sort() is that of UTF-16, which for these names is that of code points.
const signedText = (members) =>
  Object.keys(members)
    .sort()
    .map((name) => name + members[name])
    .join('');

const schemes = {
  md5: (members) => ({ ...members, sign: md5Hex(signedText(members) + read('shop.secret')) }),
  rsa: (members) => ({ ...members, sign: signRsa(signedText(members)) }),
  'rsa-envelope': ({ appKey, ...members }) => {
    const plaintext = Buffer.from(JSON.stringify(members));
    return { app_id: appKey, data: encryptRsa(plaintext), sign: signRsa(md5Hex(plaintext)) };
  },
};

const [scheme, ...members] = process.argv.slice(2);
const body = schemes[scheme](Object.fromEntries(members.map((member) => member.split(/=(.*)/, 2))));
const url = process.env.URL ?? 'http://127.0.0.1:8080';
const response = await fetch(`${url}/nofity/transferToMerchantAuthCheck`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
  signal: AbortSignal.timeout(5000),
});
const answer = `${await response.text()} ${response.status}`;
console.log(answer);
process.exitCode = answer === 'SUCCESS 200' ? 0 : 1;
