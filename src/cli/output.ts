// Writing to stdout and waiting until it is written: the program ends with process.exit, which waits for nothing.

let isReaderGone = false;

/** Writes text; resolves with false once the reader has left, as `head` does, which is no failure of ours. */
export function print(text: string): Promise<boolean> {
  if (isReaderGone) return Promise.resolve(false);
  // Without a listener a closed pipe is an uncaught exception.
  if (process.stdout.listenerCount('error') === 0) {
    process.stdout.on('error', () => {
      isReaderGone = true;
    });
  }
  return new Promise((done) => {
    process.stdout.write(text, (error) => done(error === undefined || error === null));
  });
}
