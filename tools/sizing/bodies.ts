import type { KeyObject } from 'node:crypto';
import { compileSigner } from '../../src/signature/schemes.ts';
import type { Member } from '../../src/values/members.ts';

export type SizedKind = 'payment, 5 rules' | 'payment, 20 rules' | 'withdrawal' | 'web3';

interface Callback {
  readonly path: string;
  readonly body: string;
}

/** Callbacks about subjects of their own, by a thousand users, as long as those of the platform are. */
export function bodiesOf(kind: SizedKind, count: number, senderKey: KeyObject): readonly Callback[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  if (kind === 'withdrawal') return numbers.map(withdrawal);
  if (kind === 'web3') return numbers.map(web3);
  const signer = compileSigner({
    scheme: 'rsa',
    senderKey: senderKey.export({ type: 'pkcs8', format: 'pem' }),
    digest: 'sha256',
    signs: 'string',
    emptyValues: 'keep',
  });
  return numbers.map((index) => {
    const texts = {
      appKey: 'bench-shop',
      appOrderId: `order-${index}`,
      orderAmount: `${1 + (index % 97)}.${String(index % 100).padStart(2, '0')}`,
      payCoinSymbol: 'USDT1742',
      userId: `${10_000 + (index % 1000)}`,
    };
    const members = Object.entries(texts).map(([name, text]): [string, Member] => [
      name,
      { kind: 'string', text },
    ]);
    return { path: '/nofity/transferToMerchantAuthCheck', body: signer.sign(new Map(members), 0) };
  });
}

const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const TO = '0x52908400098527886e0f7030069857d2e4169ee7';

function withdrawal(index: number): Callback {
  const body = {
    type: 'sign_start',
    transfer_id: index,
    request_id: `withdrawal-${index}`,
    pending_round: false,
    from: FROM,
    to: TO,
    memo: '',
    amount: `${1 + (index % 9)}.${String(index % 100).padStart(2, '0')}`,
    symbol: 'ETH',
  };
  return { path: '/cosigner/withdraw', body: JSON.stringify(body) };
}

function web3(index: number): Callback {
  const to = TO.slice(2).padStart(64, '0');
  const amount = (1_000_000 + index).toString(16).padStart(64, '0');
  const body = {
    type: 'sign_start',
    trans_id: index,
    request_id: `call-${index}`,
    pending_round: false,
    from: FROM,
    to: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    amount: 0,
    main_chain_symbol: 'ETH',
    input_data: `0xa9059cbb${to}${amount}`,
    interactive_contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  };
  return { path: '/cosigner/web3', body: JSON.stringify(body) };
}
