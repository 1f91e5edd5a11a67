/*
 * The commands `platform …`, for the program that has them.
 */
export { findPaymentCommand } from './find-payment.ts';
export { operationCommand } from './operation.ts';
export { parametersOf } from './parameters.ts';
export type { Program } from './program.ts';
export { objectText } from './table.ts';
