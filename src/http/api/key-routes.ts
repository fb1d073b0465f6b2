// Routes below /admin/keys. Imported at their first use. A response with the text of a key must not be
// cached. No principal can create a key with a higher role.

import { type Members, parseMembers } from '../../../actors/base/errors/body-members.ts';
import { InvalidQueryError, NotFoundError } from '../../../actors/base/errors/errors.ts';
import { parseDuration, parseQuery } from '../../../actors/base/errors/query-values.ts';
import type { AccessKey } from '../../../actors/identity/access-keys/access-key.ts';
import type { AccessKeys, CreatedKey } from '../../../actors/identity/access-keys/access-keys.ts';
import { API_KEY_NAME, principalText } from '../../../actors/identity/principal.ts';
import { type Role, roles } from '../../../actors/identity/roles.ts';
import { parseJson } from '../../../config/reader/json-text.ts';
import { refuse, roleRefusal } from '../identification.ts';
import { isJson } from '../listener/framing.ts';
import type { BodyProblem, HeaderList } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { RouteContext } from '../route-context.ts';
import { isoTime } from './iso-time.ts';
import type { KeyList, KeyRecord, NewKeyRecord } from './key-shapes.ts';

const MAX_BODY_BYTES = 16_384;
/** Ten years. */
const MAX_DURATION_MS = 3_650 * 86_400_000;
const NAME = /^[a-z0-9][\w.@-]{0,63}$/i;
const NO_STORE: HeaderList = [['cache-control', 'no-store']];

export interface KeyCall {
  readonly routes: RouteContext;
  readonly context: ExchangeContext;
  readonly keys: AccessKeys;
  /** Id of the key in the path; '' without. */
  readonly id: string;
  readonly body: Buffer | BodyProblem;
}

type KeyAction = (call: KeyCall) => Promise<void>;

export const keyActions = { list, create, rotate, revoke } satisfies Record<string, KeyAction>;

async function list({ context, keys }: KeyCall): Promise<void> {
  refuseTenant(parseQuery(context.request.query, ['tenant']).get('tenant'));
  const records = (await keys.list()).map(keyRecord);
  context.json(200, { keys: records } satisfies KeyList, NO_STORE);
}

async function create(call: KeyCall): Promise<void> {
  const { routes, context, keys } = call;
  const members = readMembers(call, ['name', 'tenant', 'role', 'expires_in']);
  if (members === undefined) return;
  refuseTenant(members.tenant);
  const name = parseName(members.name);
  const role = parseRole(members.role);
  const { expires_in } = members;
  const lifetimeMs =
    expires_in === undefined ? undefined : parseDuration('expires_in', expires_in, MAX_DURATION_MS);
  const refusal = roleRefusal(context.principal, role);
  if (refusal !== undefined) {
    refuse(context, refusal);
    return;
  }
  const createdBy = principalText(context.principal);
  const created = await keys.create({ name, role, lifetimeMs, createdBy });
  routes.log.info({ key: created.key.id, name, role, by: createdBy }, 'access key created');
  respond(context, created);
}

async function rotate(call: KeyCall): Promise<void> {
  const { routes, context, keys, id } = call;
  const members = readMembers(call, ['overlap']);
  if (members === undefined) return;
  const overlapMs = parseDuration('overlap', members.overlap ?? '0s', MAX_DURATION_MS);
  const by = principalText(context.principal);
  const created = await keys.rotate(id, overlapMs, by);
  const { key } = created;
  routes.log.info({ key: key.id, name: key.name, role: key.role, replaced: id, by }, 'access key rotated');
  respond(context, created);
}

async function revoke({ routes, context, keys, id }: KeyCall): Promise<void> {
  await keys.revoke(id);
  routes.log.info({ key: id, by: principalText(context.principal) }, 'access key revoked');
  context.empty(204);
}

function respond(context: ExchangeContext, { key, text }: CreatedKey): void {
  const { id, ...rest } = keyRecord(key);
  context.json(201, { id, key: text, ...rest } satisfies NewKeyRecord, NO_STORE);
}

function keyRecord(key: AccessKey): KeyRecord {
  const { id, name, role, createdAt, createdBy, expiresAt, usedAt, revokedAt } = key;
  return {
    ...{ id, name, tenant: null, role },
    created_at: isoTime(createdAt),
    created_by: createdBy,
    expires_at: isoTime(expiresAt),
    last_used_at: isoTime(usedAt),
    revoked_at: isoTime(revokedAt),
  };
}

/** Returns the members of the body; undefined if it was refused. Throws InvalidQueryError. */
function readMembers({ context, body }: KeyCall, allowed: readonly string[]): Members | undefined {
  if (typeof body === 'string' || body.length > MAX_BODY_BYTES) {
    context.refuseBody(typeof body === 'string' ? body : 'too_large', MAX_BODY_BYTES);
    return undefined;
  }
  if (body.length === 0) return {};
  if (!isJson(context.request.headers['content-type'] ?? ''))
    throw new InvalidQueryError('the body must be JSON (Content-Type: application/json)');
  let value: unknown;
  try {
    value = parseJson(body.toString('utf8'));
  } catch {
    throw new InvalidQueryError('the body is not JSON');
  }
  return parseMembers(value, 'the body', allowed);
}

/** Throws NotFoundError: this gateway has no tenants. */
function refuseTenant(tenant: unknown): void {
  if (tenant === undefined || tenant === null) return;
  throw new NotFoundError(`there is no tenant ${JSON.stringify(String(tenant).slice(0, 64))}`);
}

function parseName(name: unknown): string {
  if (typeof name !== 'string' || !NAME.test(name))
    throw new InvalidQueryError(
      'name should be 1 to 64 letters, digits, ".", "_", "@" or "-", and start with a letter or digit',
    );
  if (name === API_KEY_NAME)
    throw new InvalidQueryError(
      `the name ${API_KEY_NAME} belongs to the key in the gateway file; choose another`,
    );
  return name;
}

function parseRole(role: unknown): Role {
  const known = roles.find((each) => each === role);
  if (known === undefined) throw new InvalidQueryError(`role should be one of ${roles.join(', ')}`);
  return known;
}
