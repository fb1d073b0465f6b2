// `tools`, `call`, `resources` and `prompts` for people and scripts, with the public reference servers.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { type Run, runMain } from '../../fixtures/gateway/run-main.ts';
import { everythingServer, filesystemServer, guardedFolder } from '../../fixtures/server/real-servers.ts';

const KEY = 'key-of-the-test-4711';
const { folder, file } = guardedFolder();
const missing = join(temporaryFolder(), 'missing');
const servers = {
  everything: everythingServer,
  // Under session isolation the server learns that the client answers questions.
  curious: { ...everythingServer, isolation: 'session' },
  files: { ...filesystemServer(folder), tools: { deny: ['write_file'] } },
  broken: { command: missing, restart: { intensity: 0 } },
  unused: { command: missing, enabled: false },
};

let gateway: GatewayProcess;
beforeAll(async () => {
  gateway = await startGateway({ servers, settings: { api_key: KEY } });
});

const run = (...args: string[]): Promise<Run> =>
  runMain([...args, '--url', gateway.url], { env: { GATEWAY_API_KEY: KEY } });
const good = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

describe('the command `tools`', () => {
  test('lists the tools of all servers by server, with the reason for a server without tools', async () => {
    const { code, stdout, stderr } = await run('tools');
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines.filter((line) => line !== '' && !line.startsWith(' '))).toEqual([
      expect.stringMatching(/^everything \(\d+ tools\)$/),
      expect.stringMatching(/^curious \(\d+ tools\)$/),
      'files (13 tools)',
    ]);
    expect(stdout).toMatch(/^ {2}everything__get-sum +Returns the sum of two numbers$/m);
    expect(stdout).toMatch(
      /^ {2}files__read_text_file +Read the complete contents of a file from the file system as text\.$/m,
    );
    expect(stderr).toMatch(/^without broken: .*the file does not exist/m);
    const { tools } = JSON.parse((await run('tools', '--json')).stdout);
    expect(tools).toContainEqual(
      expect.objectContaining({ name: 'everything__echo', inputSchema: expect.anything() }),
    );
  });

  test('lists the tools of one server by their own names, explains one tool, and suggests similar names', async () => {
    expect(await good('tools', '--server', 'files')).toMatch(/^files \(13 tools\)\n {2}read_file /);
    const page = await good('tools', 'show', 'files', 'edit_file');
    expect(page).toMatch(/^ARGUMENT +TYPE +REQUIRED +DEFAULT +MEANING\npath +string +yes/m);
    expect(page).toMatch(/^dryRun +boolean +no +false +Preview/m);
    expect(page).toContain(
      `call files edit_file path=PATH 'edits={"oldText":"OLDTEXT","newText":"NEWTEXT"}'`,
    );
    const slips = [
      [['tools', '--server', 'fiels'], 'error: there is no server "fiels"; did you mean files?'],
      [
        ['tools', 'show', 'files', 'read_fiel'],
        'error: files has no tool "read_fiel"; did you mean read_file?',
      ],
      [['tools', 'show', 'files', 'write_file'], 'error: files has no tool "write_file"; '],
    ] as const;
    for (const [args, text] of slips) {
      const { code, stderr } = await run(...args);
      expect([code, stderr.slice(0, text.length)]).toEqual([2, text]);
    }
    const broken = await run('tools', '--server', 'broken');
    expect([broken.code, broken.stderr]).toEqual([1, expect.stringContaining('the file does not exist')]);
  });
});

describe('the command `call`', () => {
  test('parses values by the schema, and prints text as text and structured content as JSON', async () => {
    expect(await good('tools', 'call', 'everything', 'get-sum', 'a=3', 'b=4.5')).toBe(
      'The sum of 3 and 4.5 is 7.5.\n',
    );
    expect(await good('tools', 'call', 'everything', 'everything__echo', 'message=5')).toBe('Echo: 5\n');
    expect(await good('tools', 'call', 'everything', 'echo', 'message=\u001b]0;x\u0007\u001b[2Jhi')).toBe(
      'Echo: hi\n',
    );
    expect(
      JSON.parse(await good('tools', 'call', 'everything', 'get-structured-content', 'location=New York')),
    ).toMatchObject({
      temperature: 33,
    });
    const resource = await good(
      'tools',
      'call',
      'files',
      'read_multiple_files',
      `paths=${file}`,
      `paths=${file}`,
    );
    expect(resource.match(/grüße 🎭/g)).toHaveLength(2);
    const whole = JSON.parse(
      await good('tools', 'call', 'everything', 'get-sum', '--input', '{"a":1,"b":2}', 'b=5', '--json'),
    );
    expect(whole).toEqual({ content: [{ type: 'text', text: 'The sum of 1 and 5 is 6.' }] });
  });

  test('reads arguments from stdin or a file', async () => {
    const env = { GATEWAY_API_KEY: KEY };
    const piped = await runMain(
      ['tools', 'call', 'everything', 'echo', '--input', '-', '--url', gateway.url],
      {
        env,
        input: '{"message":"piped"}',
      },
    );
    expect(piped).toEqual({ code: 0, stdout: 'Echo: piped\n', stderr: '' });
    const inputFile = join(temporaryFolder(), 'input.json');
    writeFileSync(inputFile, '{"message":"kept"}');
    expect(await good('tools', 'call', 'everything', 'echo', '--input', `@${inputFile}`)).toBe(
      'Echo: kept\n',
    );
    for (const input of ['{', '[]', `@${missing}`])
      expect(await run('tools', 'call', 'everything', 'echo', '--input', input)).toMatchObject({
        code: 2,
        stdout: '',
      });
  });

  test('sends nothing with missing or unknown arguments, and lists the parameters', async () => {
    const before = gateway.logs().length;
    expect(await run('tools', 'call', 'everything', 'get-sum', 'a=x', 'c=1')).toEqual({
      code: 2,
      stdout: '',
      stderr: [
        'error: everything get-sum has invalid arguments:',
        '  a: expected a number',
        '  unknown argument c; there are a, b',
        '  b is missing (number): Second number',
        '("tools show everything get-sum" describes the arguments)',
        '',
      ].join('\n'),
    });
    expect(await run('tools', 'call', 'everything')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/^error: the name of a tool is missing; everything has echo, /),
    });
    expect(
      gateway
        .logs()
        .slice(before)
        .some(({ msg }) => msg.includes('tools/call')),
    ).toBe(false);
    const enumerated = await run('tools', 'call', 'everything', 'get-structured-content', 'location=Chicag');
    expect(enumerated.stderr).toContain('location cannot be Chicag; did you mean Chicago?');
    expect((await run('tools', 'call', 'everything')).code).toBe(2);
  });

  test('exits with 1 and prints the text if the tool fails', async () => {
    const { code, stdout, stderr } = await run(
      'tools',
      'call',
      'files',
      'read_text_file',
      `path=${join(folder, 'nope')}`,
    );
    expect([code, stderr]).toEqual([1, 'files read_text_file reported a failure\n']);
    expect(stdout).toMatch(/ENOENT/);
  });

  test('describes images and links in a result, and saves the images', async () => {
    const picture = join(temporaryFolder(), 'tiny.png');
    const image = await good('tools', 'call', 'everything', 'get-tiny-image');
    expect(image).toMatch(/^\[image: image\/png, 4\.0 kB; --output FILE saves it\]$/m);
    const saved = await run('tools', 'call', 'everything', 'get-tiny-image', '--output', picture);
    expect(saved.stderr).toBe(`saved ${picture} (image/png, 4.0 kB)\n`);
    expect(readFileSync(picture).subarray(1, 4).toString()).toBe('PNG');
    expect(await good('tools', 'call', 'everything', 'get-resource-links', 'count=2')).toMatch(
      /^\[link demo:\/\/resource\/dynamic\/text\/2: Text Resource 2, text\/plain, /m,
    );
  });

  test('declines elicitation requests of a server with a notice if there is no terminal', async () => {
    const form = await run('tools', 'call', 'curious', 'trigger-elicitation-request');
    expect(form.stderr).toBe(
      'curious asks: Please provide inputs for the following fields:\n  declined: answers need a terminal\n',
    );
    expect(form.stdout).toContain('"action": "decline"');
    const address = await run(
      'tools',
      'call',
      'curious',
      'trigger-url-elicitation',
      'url=https://example.com/x',
      'errorPath=true',
    );
    expect([address.code, address.stderr]).toEqual([
      1,
      expect.stringMatching(/^open this in a browser.*\n.*: https:/),
    ]);
  });

  test('times out after --timeout, unless the server reports progress', async () => {
    const steps = ['tools', 'call', 'everything', 'trigger-long-running-operation', 'duration=3'];
    expect((await run(...steps, 'steps=6', '--timeout', '2')).stdout).toMatch(
      /^Long running operation completed/,
    );
    const late = await run(...steps, 'steps=1', '--timeout', '1');
    expect([late.code, late.stderr]).toEqual([
      1,
      expect.stringContaining('has not responded within 1 s; the request was cancelled'),
    ]);
  });
});

describe('the commands `resources` and `prompts`', () => {
  test('list resources with templates, read and save a resource, and explain an empty list', async () => {
    const list = await good('resources', '--server', 'everything');
    expect(list).toMatch(/^RESOURCE +NAME +TYPE +DESCRIPTION\ndemo:\/\/resource\/static/);
    expect(list).toMatch(/^demo:\/\/resource\/dynamic\/text\/\{resourceId\} /m);
    expect(await good('resources', 'show', 'everything', 'demo://resource/dynamic/text/7')).toMatch(
      /^Resource 7: /,
    );
    const savedFile = join(temporaryFolder(), 'seven');
    const saved = await run(
      'resources',
      'show',
      'everything',
      'demo://resource/dynamic/blob/7',
      '--output',
      savedFile,
    );
    expect([saved.code, saved.stdout]).toEqual([0, '']);
    expect(readFileSync(savedFile, 'utf8')).toMatch(/^Resource 7: /);
    const unknown = await run('resources', 'show', 'everything', 'demo://nope');
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/there are demo:.*templates: demo:/),
    ]);
    expect(await good('resources', '--server', 'files')).toBe('files offers no resources\n');
    expect(JSON.parse((await run('resources', '--json')).stdout).resourceTemplates).toHaveLength(4);
  });

  test('list prompts with arguments, and print a prompt', async () => {
    expect(await good('prompts', '--server', 'everything')).toMatch(
      /^ {2}args-prompt +arguments: city \[state\]; A prompt/m,
    );
    expect((await run('prompts')).stdout).toMatch(/^ {2}everything__args-prompt /m);
    expect(await good('prompts', 'show', 'everything', 'args-prompt', 'city=Ulm')).toBe(
      "user:\n  What's weather in Ulm?\n",
    );
    const { code, stderr } = await run('prompts', 'show', 'everything', 'args-prompt', 'town=Ulm');
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('city is missing (string): Name of the city'),
    ]);
    expect(await good('prompts', '--server', 'files')).toBe('files offers no prompts\n');
  });
});

describe('the gateway that a command uses', () => {
  test('may require an API key: a missing or wrong key is reported', async () => {
    const args = ['tools', 'call', 'everything', 'echo', 'message=x', '--url'];
    const none = await runMain([...args, gateway.url], { env: { GATEWAY_API_KEY: '' } });
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('requires a key')]);
    const rejectedRun = await runMain([...args, gateway.url], { env: { GATEWAY_API_KEY: 'wrong-key' } });
    expect([rejectedRun.code, rejectedRun.stderr]).toEqual([
      1,
      expect.stringContaining('refuses the key from GATEWAY_API_KEY'),
    ]);
    const away = await runMain([...args, 'http://127.0.0.1:2']);
    expect([away.code, away.stderr]).toEqual([
      1,
      expect.stringContaining('no gateway listens at http://127.0.0.1:2'),
    ]);
  });

  test('is started temporarily with --catalog, and leaves nothing behind', async () => {
    const place = temporaryFolder();
    const catalog = join(place, 'catalog.yaml');
    writeFileSync(catalog, JSON.stringify({ servers: { everything: everythingServer } }));
    const env = { TMPDIR: place };
    const own = (...args: string[]) => runMain([...args, '--catalog', catalog], { env });
    expect(await own('tools', 'call', 'everything', 'get-sum', 'a=1', 'b=2')).toEqual({
      code: 0,
      stdout: 'The sum of 1 and 2 is 3.\n',
      stderr: '',
    });
    expect((await own('tools')).stdout).toMatch(/^everything \(\d+ tools\)\n {2}everything__echo /);
    expect(readdirSync(place).filter((name) => name.startsWith('actor-gateway'))).toEqual([]);
    writeFileSync(catalog, '{}');
    expect(await own('tools')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the catalog has errors'),
    });
    writeFileSync(catalog, 'servers: {}');
    expect(await own('tools')).toEqual({ code: 0, stdout: 'no tools: the catalog is empty\n', stderr: '' });
  });
});
