// Paths under which the outside may send events: their form, and those that are the gateway's own.

import * as Type from 'typebox';
import type { Fields, ListenAddress } from './trigger-type.ts';

/** First segments of what the gateway itself serves; what begins with one of them and a slash is its own too. */
const ownPaths = [
  'health',
  'servers',
  'stats',
  'mcp',
  'rpc',
  'admin',
  'inspector',
  'triggers',
  'agents',
  'deliveries',
] as const;

/** No percent signs and no empty segments: a path has one spelling. */
export const webhookPathPattern = '^/([A-Za-z0-9._~@+=,-]+(/[A-Za-z0-9._~@+=,-]+)*/?)?$';

/** A field for the path of a webhook; without a default when none is given. */
export function webhookPath(description: string, byDefault: string) {
  return Type.String({
    description,
    default: byDefault,
    pattern: webhookPathPattern,
    patternErrorMessage: 'a path such as /webhook/name, of A-Z a-z 0-9 . _ ~ @ + = , - and /',
  });
}

/** Reports a path that cannot be reached or that would hide what the gateway serves there. */
export function checkWebhookPath(fields: Fields, path: string, isOnGateway: boolean): void {
  const segments = path.split('/');
  if (segments.includes('.') || segments.includes('..')) {
    fields.report('path', 'must not hold . or .. as a segment: clients take them out');
  }
  const own = ownPaths.find((name) => name === segments[1]);
  if (isOnGateway && own !== undefined) {
    const advice = `choose another, such as /webhook${path}, or give the trigger a port of its own`;
    fields.report('path', `/${own} and what is below it belong to the gateway; ${advice}`);
  }
}

/** Reports a port that the gateway itself listens on. */
export function checkOwnPort(
  fields: Fields,
  { host, port }: { readonly host: string | undefined; readonly port: number | undefined },
  listen: ListenAddress | undefined,
): void {
  if (port === undefined && host !== undefined)
    fields.reportKey(
      'host',
      'has no effect without a port: the trigger is on the listener of the gateway',
      'warning',
    );
  if (port !== undefined && port > 0 && port === listen?.port)
    fields.report(
      'port',
      'is the one the gateway itself listens on; leave port and host out to be served there',
    );
}
