// Adapter for triggers of type HTTP: any program sends requests to a path (path.ts). The type has no outbound
// messages.

import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { JwtVerifier } from '../../identity/jwt/jwt-verifier.ts';
import type { Adapter, OpenTrigger, TriggerHost } from '../adapter.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readHttpEvent } from './event.ts';
import { type HttpSubscriber, httpPath } from './path.ts';
import { httpVerifier } from './verifier.ts';

const DEFAULT_HOST = '127.0.0.1';

/** `maxBodyBytes` is the maximum request size. */
export function httpAdapter(maxBodyBytes: number): Adapter<HttpTrigger> {
  const table = new WebhookTable<HttpSubscriber>(httpPath(maxBodyBytes));
  return {
    type: 'HTTP',
    async open(trigger: HttpTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const { path, methods, port, host: name } = trigger.config;
      const verifier = httpVerifier(trigger, await tokensOf(trigger));
      // Without a port the host is ignored, and the gateway's own listener is used.
      const address = port === undefined ? undefined : { host: name ?? DEFAULT_HOST, port };
      const close = await table.add({ trigger, host, methods, verifier }, path, address);
      return { close };
    },
    read: readHttpEvent,
  };
}

/** Returns the verifier of scheme jwt. Loaded on demand, because few triggers accept tokens. */
async function tokensOf({ config }: HttpTrigger): Promise<JwtVerifier | undefined> {
  if (config.scheme !== 'jwt' || config.jwt === undefined) return undefined;
  const { makeJwtVerifier } = await import('../../identity/jwt/make-jwt-verifier.ts');
  return makeJwtVerifier(config.jwt);
}
