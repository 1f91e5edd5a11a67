/*
 * What the package knows of the platform's specification, for the documents and the commands of the service.
 * It is not published.
 */
export { platformCodes } from './codes.ts';
export { exampleData } from './examples.ts';
export { type Operation, checkParameters } from './operation.ts';
export { operationsPage } from './operations-page.ts';
export { pay } from './operations/pay.ts';
export { operations } from './operations/registry.ts';
export { appOrderIdOf } from './payment.ts';
