/** An input that may do more than the promise says, with its bound and the reason. */
export type Exception = {
  readonly input: string
  /** `wait`: ms above the wait at rest; `growth`: CPU time of twice the size; `end`: s until its effect has ended. */
  readonly what: 'wait' | 'growth' | 'end'
  readonly bound: number
  readonly reason: string
}

export const exceptions: readonly Exception[] = []
