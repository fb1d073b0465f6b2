// Triggers of type HTTP: what any program sends to a path, which path.ts takes. Nothing goes out.

import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { JwtVerifier } from '../../identity/jwt/jwt-verifier.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readHttpEvent } from './event.ts';
import { type HttpSubscriber, httpPath } from './path.ts';
import { httpVerifier } from './verifier.ts';

const DEFAULT_HOST = '127.0.0.1';

/** `maxBodyBytes` bounds one request. */
export function httpAdapter(maxBodyBytes: number): Adapter<HttpTrigger> {
  const table = new WebhookTable<HttpSubscriber>(httpPath(maxBodyBytes));
  return {
    type: 'HTTP',
    async open(trigger: HttpTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { path, methods, port, host: name } = trigger.config;
      const verifier = httpVerifier(trigger, await tokensOf(trigger));
      // A host without a port is still the gateway's listener.
      const address = port === undefined ? undefined : { host: name ?? DEFAULT_HOST, port };
      const close = await table.add({ trigger, host, methods, verifier }, path, address);
      return { close };
    },
    read: readHttpEvent,
  };
}

/** What verifies tokens is loaded only where some are taken. */
async function tokensOf({ config }: HttpTrigger): Promise<JwtVerifier | undefined> {
  if (config.scheme !== 'jwt' || config.jwt === undefined) return undefined;
  const { makeJwtVerifier } = await import('../../identity/jwt/make-jwt-verifier.ts');
  return makeJwtVerifier(config.jwt);
}
