import { isRippleX, readRipple } from './address/base58.ts';

const TAG = /^(?:0|[1-9]\d{0,9})$/;
const TAG_MAX = 4_294_967_295;

/** What a destination tag is, for messages. */
export const TAG_FORM = `a whole number from 0 to ${TAG_MAX}`;

/** Whether the text is a destination tag in its only form, which is without leading zeros. */
export const isDestinationTag = (text: string): boolean => TAG.test(text) && Number(text) <= TAG_MAX;

/** Whether the memo to this address must be a number: on Ripple it is the destination tag, an integer. */
export function requiresNumericMemo(address: string): boolean {
  return (address.startsWith('r') && readRipple(address).ok) || isRippleX(address);
}
