/*
 * The package countersign-sandbox: how the platform signs and encrypts. Its commands are in commands/commands.ts.
 */
export { flatSign, seal } from './signing.ts';
