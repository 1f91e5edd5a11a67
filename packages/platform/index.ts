/*
 * The package countersign-platform: what `npm run package` publishes. README.md is its page.
 */
export { CountersignError } from '../../src/errors.ts';
export type * from './calls.ts';
export type * from './client.ts';
export { createPlatform } from './client.ts';
export { type PlatformConfig, type PlatformParts, systemParts } from './connection.ts';
export { type Outcome, PlatformError, type PlatformErrorCode, type PlatformErrorData } from './error.ts';
export type { PlatformCredentials } from './protection.ts';
