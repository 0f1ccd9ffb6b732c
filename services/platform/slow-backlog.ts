/** What waits beside the steps of the cost worker of this process. */
export type SlowBacklogSource = {
  /** Tell whether so much of an account waits that no more of its records should be taken. */
  readonly isLogFull: (accountId: string) => boolean
  /** The offset up to which a partition was read whose committed offset waits for slow work alone; null if it does not wait for any. */
  readonly readUpTo: (partition: number) => number | null
}

/** Tells the gateway of a process what the cost worker of the same process has left; nothing waits while there is no worker. */
export type SlowBacklog = SlowBacklogSource & { readonly setSource: (source: SlowBacklogSource) => void }

const emptyBacklog: SlowBacklogSource = { isLogFull: () => false, readUpTo: () => null }

/** Create the backlog of a process without a worker. */
export const slowBacklog = (): SlowBacklog => {
  let source = emptyBacklog
  return {
    isLogFull: accountId => source.isLogFull(accountId),
    readUpTo: partition => source.readUpTo(partition),
    setSource: nextSource => {
      source = nextSource
    },
  }
}
