// Messages the gateway writes itself. Ids are raw JSON in Latin-1, as rawOf() gives them.

import { rawJson } from './span.ts';

export function requestMessage(rawId: string, method: string, params: unknown): Buffer {
  const tail = params === undefined ? '' : `,"params":${rawJson(params)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"method":${rawJson(method)}${tail}}`, 'latin1');
}

export function notificationMessage(method: string, params?: unknown): Buffer {
  const tail = params === undefined ? '' : `,"params":${rawJson(params)}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":${rawJson(method)}${tail}}`, 'latin1');
}

export function resultMessage(rawId: string, result: unknown): Buffer {
  return resultTextMessage(rawId, rawJson(result));
}

/** As resultMessage, with the result as raw JSON. */
export function resultTextMessage(rawId: string, rawResult: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"result":${rawResult}}`, 'latin1');
}

export function errorMessage(
  rawId: string | undefined,
  code: number,
  message: string,
  data?: unknown,
): Buffer {
  const error = data === undefined ? { code, message } : { code, message, data };
  return Buffer.from(`{"jsonrpc":"2.0","id":${rawId ?? 'null'},"error":${rawJson(error)}}`, 'latin1');
}
