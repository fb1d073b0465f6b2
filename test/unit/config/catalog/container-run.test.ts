import { expect, test } from 'vitest';
import { containerRunIn } from '../../../../config/catalog/container-run.ts';

test.each([
  ['docker', 'run -i --rm image'],
  ['/usr/bin/podman', '--root /srv/x run -i --rm image run -d'],
  ['docker', '-H unix:///x.sock --debug container run -i --rm image'],
  ['docker.exe', 'run --interactive=true --rm -e A=b -v /a:/b --network none image -d --name x'],
  ['docker', 'run -iPe A=b --rm image -d'],
  ['docker', 'run -ieA --rm image'],
  ['docker', 'run -i --rm --detach=false image'],
])('the command line %s %s runs a container that ends with its client', (command, line) => {
  const args = line.split(' ');
  const run = containerRunIn(command, args);
  expect(run).toMatchObject({ hasName: false, isRemoved: true, fault: undefined });
  expect(args[(run?.headLength ?? 0) - 1]).toBe('run');
});

test.each([
  ['docker', 'exec -i shop server'],
  ['docker', 'compose run shop'],
  ['docker', '--context run ps'],
  ['npx', 'run -i image'],
  ['docker', ''],
  ['/srv/docker/server', 'run'],
])('the command line %s %s runs no container', (command, line) => {
  expect(containerRunIn(command, line.split(' '))).toBeUndefined();
});

test.each([
  ['run --rm image -i', /add -i to/],
  ['run -d image', /remove -d/],
  ['run -di image', /remove -d/],
  ['run --rm -it image', /remove -t/],
  ['run --name -i image', /add -i to/],
])('containerRunIn finds the fault in the command line docker %s', (line, fault) => {
  expect(containerRunIn('docker', line.split(' '))?.fault).toMatch(fault);
});

test('containerRunIn detects the option --name, and a container that is not removed at its end', () => {
  expect(containerRunIn('docker', ['run', '-i', '--name=shop', 'image'])).toMatchObject({
    hasName: true,
    isRemoved: false,
  });
});
