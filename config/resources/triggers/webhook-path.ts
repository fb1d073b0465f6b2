// Checks the paths of triggers' webhooks: their format, and paths that are reserved for the gateway.

import * as Type from 'typebox';
import type { Fields, ListenAddress } from './trigger-type.ts';

/** First segments reserved for the gateway, including paths below them. */
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

/** Excludes percent signs and empty segments: each path has a single notation. */
export const webhookPathPattern = '^/([A-Za-z0-9._~@+=,-]+(/[A-Za-z0-9._~@+=,-]+)*/?)?$';

/** Schema for webhook paths. */
export function webhookPath(description: string, byDefault: string) {
  return Type.String({
    description,
    default: byDefault,
    pattern: webhookPathPattern,
    patternErrorMessage: 'a path such as /webhook/name, of A-Z a-z 0-9 . _ ~ @ + = , - and /',
  });
}

/**
 * Reports a path that no client can request. With `isOnGateway` the webhook uses the listener of the gateway;
 * then a path of the gateway is reported too.
 */
export function checkWebhookPath(fields: Fields, path: string, isOnGateway: boolean): void {
  const segments = path.split('/');
  if (segments.includes('.') || segments.includes('..')) {
    fields.report('path', 'must not contain . or .. as a segment: clients remove them');
  }
  const reservedName = ownPaths.find((name) => name === segments[1]);
  if (isOnGateway && reservedName !== undefined) {
    const advice = `choose another, such as /webhook${path}, or give the trigger a separate port`;
    fields.report('path', `/${reservedName} and all paths below it are reserved for the gateway; ${advice}`);
  }
}

/** Reports a trigger's port that is also the gateway's, and a host without a port. */
export function checkOwnPort(
  fields: Fields,
  { host, port }: { readonly host: string | undefined; readonly port: number | undefined },
  listen: ListenAddress | undefined,
): void {
  if (port === undefined && host !== undefined)
    fields.reportKey(
      'host',
      'has no effect without a port: the trigger uses the listener of the gateway',
      'warning',
    );
  if (port !== undefined && port > 0 && port === listen?.port)
    fields.report('port', 'is the port of the gateway; remove port and host to use its listener');
}
