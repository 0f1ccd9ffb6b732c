/** An input that may do more than the promise says, with its bound and the reason. */
export type Exception = {
  readonly input: string
  /** `wait`: ms above the wait at rest; `growth`: CPU time of twice the size; `end`: s until its effect has ended; `share`: p99 of others, in ms. */
  readonly what: 'wait' | 'growth' | 'end' | 'share'
  readonly bound: number
  readonly reason: string
}

export const exceptions: readonly Exception[] = [
  {
    input: 'five records of 364 days at many bands',
    what: 'share',
    bound: 400,
    reason:
      'Each record has 524,000 cost pieces. The worker calculates them in slices of 3 ms on the thread that answers, and their memory is collected ' +
      'in pauses of 10 to 35 ms. On two cores, the p99 of another account is 35 to 50 ms for /health/live and 75 to 280 ms for an object.',
  },
  {
    input: 'five records of 364 days at many bands',
    what: 'wait',
    bound: 200,
    reason:
      'The garbage of 2.6 million cost pieces is collected in pauses of 10 to 35 ms on the thread that answers. One read in a hundred waits ' +
      'for several of them: up to 200 ms for costs.',
  },
  {
    input: 'subscribers whose answer does not end',
    what: 'wait',
    bound: 250,
    reason:
      'Each of the 4,000 answers ends with its connection, which takes 2.5 ms of CPU; the subscriber of the test takes one of the two cores. ' +
      'Three reads in a hundred wait up to 250 ms.',
  },
]
