import { readPrivateKey, readPublicKey } from '../../src/signature/keys.ts';
import { createDecryptionThreads } from '../../src/signature/decryption.ts';
import { makePair } from './pairs.ts';

/* A process that decrypts in a thread, and closes nothing. */
const { publicText, privateText } = makePair();
const block = readPublicKey(publicText).encrypt(Buffer.from('decrypted'));
const plaintext = await readPrivateKey(privateText).decryptIn(createDecryptionThreads(), block);
console.log(Buffer.from(plaintext ?? []).toString());
