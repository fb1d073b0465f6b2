// Records operations of the HTTP API in the audit (actors/audit): start, reload, cancel and others, with
// their status, and refused sign-ins. The message router records calls of MCP clients, but requests to
// unknown servers do not reach it. Imported only if the gateway has an audit.

import type { Audit } from '../../actors/audit/audit-part.ts';
import type { Redactor } from '../../actors/base/errors/redact.ts';
import { principalText, type Refusal, roleOf } from '../../actors/identity/principal.ts';
import { auditFilter } from './api/audit-filter.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';
import { statusOfRefusal } from './status.ts';

/** Groups of paths without a name in the second segment: /admin/reload. */
const GROUPS: ReadonlySet<string> = new Set(['admin', 'inspector']);
const API = /^\/inspector\/api(?=\/)/;

export class RequestAudit {
  readonly #audit: Audit;
  readonly #redactor: Pick<Redactor, 'redact'>;

  constructor(audit: Audit, redactor: Pick<Redactor, 'redact'>) {
    this.#audit = audit;
    this.#redactor = redactor;
  }

  /**
   * Records an operation when it is answered. If the audit refuses operations, because it cannot be written,
   * responds with the refusal and returns true.
   */
  refusesOperation(context: ExchangeContext): boolean {
    const startedAt = performance.now();
    const { request, reply } = context;
    const operation = operationOf(request.method, request.path);
    reply.onAnswered((status) => {
      const ms = performance.now() - startedAt;
      this.#audit.record({ ...operation, ...senderOf(context), outcome: outcomeOf(status), status, ms });
    });
    const refusal = this.#audit.refusal();
    if (refusal !== undefined) context.fail(refusal, (text) => this.#redactor.redact(text));
    return refusal !== undefined;
  }

  /** Same for MCP messages, which are recorded later. */
  refusesMessage(context: ExchangeContext): boolean {
    const refusal = this.#audit.refusal();
    if (refusal === undefined) return false;
    this.#audit.record({ ...senderOf(context), action: 'message', outcome: 'unavailable', status: 503 });
    context.rpcError(refusal, undefined);
    return true;
  }

  /** Records an MCP request to a server or profile that does not exist. */
  recordUnknown(context: ExchangeContext, target: string): void {
    this.#audit.record({ ...senderOf(context), action: 'message', target, outcome: 'refused', status: 404 });
  }

  /** Records a sender with wrong or missing credentials. Call it before the response. */
  recordSignIn({ client, requestId }: ExchangeContext, kind: Refusal['kind']): void {
    this.#audit.recordSignIn(client, statusOfRefusal(kind), requestId);
  }

  /** Responds with recorded lines. Rejects with InvalidQueryError and OverloadedError. */
  async list(context: ExchangeContext): Promise<void> {
    const { lines, nextBefore = null } = await this.#audit.list(auditFilter(context.request.query));
    context.jsonText(200, `{"lines":[${lines.join(',')}],"next_before":${nextBefore}}`);
  }
}

function senderOf({ principal, requestId, traceparent }: ExchangeContext) {
  return { principal: principalText(principal), role: roleOf(principal), requestId, traceparent };
}

/** Returns the name of the operation, such as `servers/stop`, and its target. */
function operationOf(
  method: string,
  path: string,
): { readonly action: string; readonly target: string | null } {
  const [, head = '', second, ...rest] = path.replace(API, '').split('/');
  const isGroup = GROUPS.has(head);
  const verbs = isGroup ? [head, second, ...rest.slice(1)] : [head, ...rest];
  const target = isGroup ? rest[0] : second;
  const action = [...verbs, ...(method === 'DELETE' ? ['delete'] : [])].join('/');
  return { action, target: target === undefined ? null : decoded(target) };
}

/** `status` is undefined if the client has disconnected before the response; the operation may be done. */
function outcomeOf(status: number | undefined): string {
  if (status === undefined) return 'cancelled';
  if (status < 400) return 'ok';
  if (status < 500) return 'refused';
  if (status === 503) return 'unavailable';
  return status === 504 ? 'timeout' : 'internal';
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
