// Answers of a tracker, for tests of what asks it.

import type { AskTracker } from '../../../../../actors/platforms/issuetracker/question.ts';
import { ApiAnswer, type ApiRequest } from '../../../../../libs/rest/http-api.ts';

export function answerOf(
  status: number,
  body: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): ApiAnswer {
  return new ApiAnswer(status, new Headers(headers), Buffer.from(JSON.stringify(body)), 'tracker.example');
}

/** Gives the answers one after the other, the last one for ever; an error is what the request rejects with. */
export function askedOf(...answers: readonly (ApiAnswer | Error | ((request: ApiRequest) => ApiAnswer))[]): {
  readonly ask: AskTracker;
  readonly requests: readonly ApiRequest[];
} {
  const requests: ApiRequest[] = [];
  const ask: AskTracker = async (request) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(request);
    if (answer instanceof Error) throw answer;
    if (answer === undefined) throw new Error('nothing was to be asked');
    return typeof answer === 'function' ? answer(request) : answer;
  };
  return { ask, requests };
}
