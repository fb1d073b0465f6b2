// The pass before the load: every answer must belong to its request. A benchmark of answers that went to the wrong
// caller would be worth nothing, and wrk looks at the status alone.

import { Agent, request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { argumentsOf, idOf } from './messages.mjs';

/**
 * Sends `calls` calls, `atOnce` at a time, each with an id and arguments of its own. Throws at the first answer that is
 * not the answer to its request. Gives the number of answers that were.
 */
export async function check({ row, url, headers, bodyOf }, { calls = 400, atOnce = 64 } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  let next = 0;
  const worker = async () => {
    while (next < calls) {
      const n = next;
      next += 1;
      const { status, type, text } = await post(agent, url, headers, bodyOf(n));
      const fault = faultOf(n, status, type, text);
      if (fault !== undefined)
        throw new Error(`${row}: ${fault}; request ${bodyOf(n)}, answer ${status} ${text}`);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, worker));
  } finally {
    agent.destroy();
  }
  return calls;
}

function faultOf(n, status, type, text) {
  if (status !== 200) return 'the call failed';
  const answers = messagesIn(type, text).filter(({ method }) => method === undefined);
  if (answers.length !== 1) return `${answers.length} answers instead of one`;
  return answerFault(n, answers[0]);
}

/** What is wrong with the answer of an echo to the nth call; nothing when all is well. */
export function answerFault(n, { id, result, error }) {
  if (id !== idOf(n)) return `the answer is for ${JSON.stringify(id)}, not for ${JSON.stringify(idOf(n))}`;
  if (result === undefined) return `the answer is an error, ${error?.message}`;
  try {
    if (isDeepStrictEqual(JSON.parse(result.content[0].text), argumentsOf(n))) return undefined;
  } catch {
    // Not the text of an echo, so not its answer.
  }
  return 'the answer has other arguments than the request';
}

function messagesIn(type, text) {
  if (!type.startsWith('text/event-stream')) return [JSON.parse(text)];
  const data = text.split('\n').filter((line) => line.startsWith('data:') && line.length > 6);
  return data.map((line) => JSON.parse(line.slice('data:'.length)));
}

function post(agent, url, headers, body) {
  return new Promise((done, reject) => {
    const sent = request(
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
          done({ status: answer.statusCode, type: answer.headers['content-type'] ?? '', text }),
        );
        answer.once('error', reject);
      },
    );
    sent.once('timeout', () => sent.destroy(new Error(`no answer in 30 s to ${body}`)));
    sent.once('error', reject);
    sent.end(body);
  });
}
