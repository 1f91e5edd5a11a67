import { createHash } from 'node:crypto';
import bodyParser from 'body-parser';
import express from 'express';
import { Redis } from 'ioredis';
import { NodeRSA } from 'node-rsa';

/**
 * The least that any receiver of RSA-signed payments does: parse, build the signed string, verify, remember
 * the order id. No bounds, no policies, no journal. What Countersign costs is measured against this, in the
 * same run.
 */
export interface FloorParts {
  readonly redisUrl: string;
  readonly platformKey: string;
}

export async function startFloor({ redisUrl, platformKey }: FloorParts): Promise<string> {
  const redis = new Redis(redisUrl);
  const key = new NodeRSA(platformKey, 'pkcs8-public-pem', { signingScheme: 'pkcs1-sha256' });
  const app = express();
  app.use(bodyParser.json());
  app.post('/nofity/transferToMerchantAuthCheck', async (request, response) => {
    const { sign, ...members } = request.body as Record<string, string>;
    const names = Object.keys(members).sort();
    const text = names.map((name) => name + members[name]).join('');
    const authentic = key.verify(Buffer.from(text), sign ?? '', 'utf8', 'base64');
    const first =
      authentic &&
      (await redis.set(
        `order:${members['appOrderId']}`,
        createHash('sha256').update(text).digest('hex'),
        'NX',
      ));
    response.type('text/plain').send(first === 'OK' ? 'SUCCESS' : 'FAILURE');
  });
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('the floor program has no port');
      resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}
