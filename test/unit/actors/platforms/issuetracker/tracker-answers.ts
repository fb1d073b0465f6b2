// Simulated tracker responses.

import type { SendTrackerRequest } from '../../../../../actors/platforms/issuetracker/tracker-lookup.ts';
import { type ApiRequest, ApiResponse } from '../../../../../libs/rest/http-api.ts';

export function answerOf(
  status: number,
  body: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  return new ApiResponse(status, new Headers(headers), Buffer.from(JSON.stringify(body)), 'tracker.example');
}

/** Returns the responses in order; the last one repeats. An error rejects the request. */
export function requesterOf(
  ...answers: readonly (ApiResponse | Error | ((request: ApiRequest) => ApiResponse))[]
): {
  readonly ask: SendTrackerRequest;
  readonly requests: readonly ApiRequest[];
} {
  const requests: ApiRequest[] = [];
  const ask: SendTrackerRequest = async (request) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(request);
    if (answer instanceof Error) throw answer;
    if (answer === undefined) throw new Error('no request was expected');
    return typeof answer === 'function' ? answer(request) : answer;
  };
  return { ask, requests };
}
