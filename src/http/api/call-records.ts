// GET /history/calls: the recent calls of clients, newest first.

import { InvalidQueryError, NotFoundError } from '../../../actors/base/errors/errors.ts';
import { parseChoice, parseQuery, parseWholeNumber } from '../../../actors/base/errors/query-values.ts';
import {
  callOutcomes,
  callRedactor,
  type RecordedCall,
  type RecordedOutcome,
} from '../../../actors/history/call-record.ts';
import type { CallFilter } from '../../../actors/history/recent-calls.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { RouteContext } from '../route-context.ts';
import type { CallList, CallRecord } from './call-shapes.ts';
import { isoTime } from './iso-time.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;
const MAX_NUMBER = Number.MAX_SAFE_INTEGER;
const outcomeChoices = [...callOutcomes, 'failed', 'slow'] as const;

/** Handles GET /history/calls. Throws InvalidQueryError and NotFoundError. */
export function handleCalls(
  { history, redactor }: Pick<RouteContext, 'history' | 'redactor'>,
  context: ExchangeContext,
): void {
  const filter = filterIn(context.request.query);
  if (history === undefined)
    throw new NotFoundError(
      'the history is disabled; set history.enabled: true in gateway.yaml and restart the gateway',
    );
  const { calls, nextBefore } = history.calls.list(filter);
  const redacted = callRedactor(redactor);
  const records = calls.map((call) => recordOf(redacted(call)));
  context.json(200, { calls: records, next_before: nextBefore } satisfies CallList);
}

function recordOf({ at, ms, requestId, ...rest }: RecordedCall): CallRecord {
  return { ...rest, at: isoTime(at), ms: Math.round(ms * 1000) / 1000, request_id: requestId };
}

function filterIn(query: string): CallFilter {
  const values = parseQuery(query, ['of', 'outcome', 'before', 'limit']);
  const before = values.get('before');
  return {
    ...sourceIn(values.get('of')),
    ...outcomesIn(values.get('outcome')),
    before: before === undefined ? undefined : parseWholeNumber('before', before, MAX_NUMBER),
    limit: parseWholeNumber('limit', values.get('limit') ?? String(DEFAULT_LIMIT), MAX_LIMIT),
  };
}

function sourceIn(text: string | undefined): Pick<CallFilter, 'server' | 'tool'> {
  if (text === undefined || text === 'gateway') return {};
  const [, kind, name] = /^(server|tool):(.+)$/s.exec(text) ?? [];
  if (kind === 'server') return { server: name };
  if (kind === 'tool') return { tool: name };
  throw new InvalidQueryError('expected of=gateway, of=server:ID or of=tool:SERVER/TOOL');
}

function outcomesIn(text: string | undefined): Pick<CallFilter, 'outcomes' | 'includesSlow'> {
  if (text === undefined) return {};
  const choices = text.split(',').map((choice) => parseChoice('outcome', outcomeChoices, choice));
  const outcomes = choices.flatMap((choice): readonly RecordedOutcome[] => {
    if (choice === 'failed') return callOutcomes.filter((each) => each !== 'ok');
    return choice === 'slow' ? [] : [choice];
  });
  return { outcomes: new Set(outcomes), includesSlow: choices.includes('slow') };
}
