// Services shared by the listener for clients and the listener for other nodes: operator token,
// identification of senders, heartbeat, memory budget for bodies. Drained after both listeners are drained.

import type { Part } from '../../actors/base/supervision/part.ts';
import type { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import type { CallGuard } from '../../config/resources/call-guards.ts';
import { AccessKeyDoor } from './access-key-door.ts';
import { SlicedJson } from './api/sliced-json.ts';
import { BodyBudget } from './body/body-budget.ts';
import { ApiKey, Identification, type IdentificationOptions } from './identification.ts';
import { Heartbeat } from './mcp/heartbeat.ts';
import { operatorTokenOf } from './operator-token.ts';
import type { RequestAudit } from './request-audit.ts';
import type { ServedGateway } from './route-context.ts';
import { internalErrorReporter } from './routes.ts';

export interface HttpServicesOptions {
  readonly gateway: ServedGateway & Pick<GatewayRuntime, 'store'>;
  /** Returns the first guard of tool calls in the active files, if any. Undefined without automation. */
  readonly callGuard?: (() => CallGuard | undefined) | undefined;
}

export class HttpServices implements Part {
  readonly gateway: ServedGateway;
  readonly callGuard: HttpServicesOptions['callGuard'];
  /** Empty if an API key is set or the disk is full. */
  readonly operatorToken: string;
  readonly identification: Identification;
  readonly accessKeys: AccessKeyDoor;
  /** Sends keepalive comments on idle streams. */
  readonly heartbeat = new Heartbeat();
  readonly json = new SlicedJson();
  /** Memory budget for bodies of unverified senders. */
  readonly unverifiedBodies: BodyBudget;
  readonly reportFault: (error: unknown) => void;
  /** Undefined without an audit. */
  readonly requestAudit: RequestAudit | undefined;

  /** Reads the operator token. Imports JWT verification only if configured. Rejects with StateFolderError. */
  static async open(options: HttpServicesOptions): Promise<HttpServices> {
    const { api_key, auth } = options.gateway.config;
    const operatorToken = operatorTokenOf(options.gateway);
    const key = new ApiKey(api_key);
    const requestAudit = await requestAuditOf(options.gateway);
    if (auth.jwt === undefined)
      return new HttpServices(
        options,
        operatorToken,
        { key, operatorToken: new ApiKey(operatorToken) },
        requestAudit,
      );
    const { makeJwtVerifier } = await import('../../actors/identity/jwt/make-jwt-verifier.ts');
    // No operator token: `auth.jwt` requires an API key, which replaces the operator token.
    const identification = { key, tokens: makeJwtVerifier(auth.jwt) };
    return new HttpServices(options, operatorToken, identification, requestAudit);
  }

  private constructor(
    { gateway, callGuard }: HttpServicesOptions,
    operatorToken: string,
    identification: IdentificationOptions,
    requestAudit: RequestAudit | undefined,
  ) {
    this.requestAudit = requestAudit;
    this.gateway = gateway;
    this.callGuard = callGuard;
    this.operatorToken = operatorToken;
    this.accessKeys = new AccessKeyDoor(gateway.store, gateway.config);
    this.identification = new Identification({ ...identification, accessKeys: this.accessKeys });
    this.unverifiedBodies = BodyBudget.for(gateway.config.limits.body_bytes);
    this.reportFault = internalErrorReporter(gateway.log);
  }

  async drain(): Promise<void> {
    this.heartbeat.stop();
    await this.accessKeys.close();
  }
}

async function requestAuditOf({ audit, redactor }: ServedGateway): Promise<RequestAudit | undefined> {
  if (audit === undefined) return undefined;
  const { RequestAudit } = await import('./request-audit.ts');
  return new RequestAudit(audit, redactor);
}
