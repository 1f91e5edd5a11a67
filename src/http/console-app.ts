import type { Express } from 'express';
import type { Simulate } from '../simulation/simulator.ts';
import { equalInConstantTime } from '../values/secret.ts';
import { type OnFailed, createSimulationApi } from './api.ts';
import { type ConsoleParts, createConsole } from './console.ts';
import { SECRET_HEADER } from './forward.ts';
import { answerFailure, namedApp, plainApp } from './ops.ts';

export interface ConsoleAppParts {
  readonly console: ConsoleParts | undefined;
  readonly simulate: Simulate;
  readonly onFailed: OnFailed;
}

/**
 * The app of the console's process beside a service, which forwards requests to it. Other programs of this
 * machine can connect, and get nothing without the secret.
 */
export function createForwardedApp(
  secret: string,
  { console, simulate, onFailed }: ConsoleAppParts,
): Express {
  const app = plainApp();
  app.use((request, response, next) => {
    if (equalInConstantTime(request.get(SECRET_HEADER) ?? '', secret)) next();
    else response.status(403).type('text/plain').send('call the ops port of the service\n');
  });
  // The service, which has the secret, says the address of the client and whether it came over TLS.
  app.set('trust proxy', true);
  app.use('/api', createSimulationApi(simulate, onFailed));
  if (console !== undefined) app.use('/console', createConsole(console, onFailed));
  app.use(answerFailure(onFailed));
  return app;
}

/** The app of a console that runs alone, on a port of its own. */
export function createConsoleApp(
  hosts: readonly string[],
  { console, onFailed }: Omit<ConsoleAppParts, 'simulate'>,
): Express {
  const app = namedApp(hosts);
  if (console !== undefined) app.use('/console', createConsole(console, onFailed));
  app.use((_request, response) => {
    response.status(404).type('text/plain').send('/healthz, /console/\n');
  });
  app.use(answerFailure(onFailed));
  return app;
}
