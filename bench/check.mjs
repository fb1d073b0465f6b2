// Correctness check before the load: responses must belong to their requests. wrk checks only the status.

import { Agent, request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { argumentsOf, idOf } from './messages.mjs';

/**
 * Sends `calls` calls with distinct ids and arguments, up to `concurrency` concurrently. Throws at the first
 * wrong response. Returns the number of calls.
 */
export async function check({ row, url, headers, bodyOf }, { calls = 400, concurrency = 64 } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  let next = 0;
  const worker = async () => {
    while (next < calls) {
      const n = next;
      next += 1;
      const { status, type, text } = await post(agent, url, headers, bodyOf(n));
      const fault = faultOf(n, status, type, text);
      if (fault !== undefined)
        throw new Error(`${row}: ${fault}; request ${bodyOf(n)}, response ${status} ${text}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, worker));
  } finally {
    agent.destroy();
  }
  return calls;
}

/** Returns the problem of the HTTP response to the nth call; undefined if it is correct. */
function faultOf(n, status, type, text) {
  if (status !== 200) return 'the call failed';
  // Notifications have a method, responses have none.
  const answers = messagesIn(type, text).filter(({ method }) => method === undefined);
  if (answers.length !== 1) return `${answers.length} responses instead of one`;
  return answerFault(n, answers[0]);
}

/** Returns the problem of an echo response to the nth call; undefined if it is correct. */
export function answerFault(n, { id, result, error }) {
  if (id !== idOf(n)) return `the response is for ${JSON.stringify(id)}, not for ${JSON.stringify(idOf(n))}`;
  if (result === undefined) return `the response is an error, ${error?.message}`;
  try {
    if (isDeepStrictEqual(JSON.parse(result.content[0].text), argumentsOf(n))) return undefined;
  } catch {
    // Not an echo text.
  }
  return 'the response has other arguments than the request';
}

function messagesIn(type, text) {
  if (!type.startsWith('text/event-stream')) return [JSON.parse(text)];
  // Some servers start a stream with an event without data.
  const data = text.split('\n').filter((line) => line.startsWith('data:') && line.length > 'data: '.length);
  return data.map((line) => JSON.parse(line.slice('data:'.length)));
}

function post(agent, url, headers, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: 'POST',
        agent,
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
          ...headers,
        },
        timeout: 30_000,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        answer.once('end', () =>
          resolve({ status: answer.statusCode, type: answer.headers['content-type'] ?? '', text }),
        );
        answer.once('error', reject);
      },
    );
    outgoing.once('timeout', () => outgoing.destroy(new Error(`no response in 30 s to ${body}`)));
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}
