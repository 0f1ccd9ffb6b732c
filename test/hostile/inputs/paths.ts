import { type HostileInput, sends, times } from '../input.ts'

const subject = 'paths'
const unsigned = { authorization: '' }

/** Paths and queries as long as the headers allow, and longer than a path may be. */
export const paths: readonly HostileInput[] = [
  {
    subject,
    name: 'slashes behind the console, not signed in',
    size: 15_000,
    unit: 'slashes',
    statuses: [302, 303, 404, 414],
    isShort: true,
    open: async ({ hostile }, size) => sends(() => hostile.send('GET', `/console${times(size, '/')}x`, undefined, unsigned)),
  },
]
