// `npm run try -- model`: a local server with the OpenAI protocol, for users without an API key or a model
// server. It is not a model: stand-in-rules.ts defines its answers. Prints each request.

import { once } from 'node:events';
import { columnsOf, paintFor } from '../../src/terminal/paint.ts';
import { printable } from '../../src/terminal/terminal-text.ts';
import { ModelServer } from '../../test/fixtures/models/model-server.ts';
import { type CompletionRequest, describeAnswer, newestText, standIn } from './stand-in-rules.ts';

/** Returns the exit code after the signal. */
export async function serveModel(port: number, signal: AbortSignal): Promise<number> {
  const paint = paintFor(process.stdout, process.env);
  const write = (...lines: readonly string[]) => void process.stdout.write(`${lines.join('\n')}\n`);
  await using server = await ModelServer.start(port);
  server.answerWith(({ body }, n) => {
    const question = body as CompletionRequest;
    const answer = standIn(question);
    const line = (text: string) => printable(text).slice(0, columnsOf(process.stdout) - 3);
    write(
      `${paint('faint', String(n))} ${line(newestText(question))}`,
      `  ${paint('faint', line(describeAnswer(answer)))}`,
    );
    return answer;
  });
  write(
    paint('strong', `A stand-in for a model, at ${server.url}/v1`),
    'It uses the OpenAI protocol and follows three rules; it is not a model. In another terminal:',
    '  MODEL=local:stand-in node dist/main.js --config examples/assistant-automation.yaml',
    'Each request is shown here. Ctrl-C stops the server.',
    '',
  );
  if (!signal.aborted) await once(signal, 'abort');
  return 0;
}
