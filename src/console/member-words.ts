import { type Kind, KINDS } from '../callback/callback.ts';
import { type Html, withQuery } from './html.ts';
import { choices } from './layout.ts';

/** The words for what callbacks have, the same on all pages. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  payment: 'Payment',
  transfer: 'Withdrawal',
  web3: 'Web3 transaction',
};

const WORDS: Readonly<Record<string, string>> = {
  appOrderId: 'Order',
  request_id: 'Request',
  userId: 'User',
  amount: 'Amount',
  symbol: 'Asset',
  scheme: 'Scheme',
  from: 'From',
  to: 'To',
  outputs: 'To several (ADDRESS=AMOUNT, …)',
  memo: 'Memo',
  transfer_id: 'Number (transfer_id)',
  interactive_contract: 'Contract',
  input_data: 'Call data',
};

/** The word for a member, by its name in policies. */
export const memberWord = (kind: Kind, name: string): string =>
  kind === 'web3' && name === 'symbol' ? 'Coin of the chain' : (WORDS[name] ?? name);

/** The member that names the operation. */
export const idMember = (kind: Kind): string => (kind === 'payment' ? 'appOrderId' : 'request_id');

/** Links to the same page for each kind of callback. */
export const kindChoices = (path: string, chosen: Kind): Html =>
  choices(
    'Kinds of callbacks',
    KINDS.map((kind) => ({
      to: withQuery(path, { kind }),
      text: KIND_WORDS[kind],
      isChosen: kind === chosen,
    })),
  );
