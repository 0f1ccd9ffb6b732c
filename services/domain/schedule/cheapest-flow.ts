import { columnsOf, isUp } from './bit-rows.ts'
import { emptyFlow, type Flow, type FlowProblem, roomOf, runsIn, type Supply } from './flow-problem.ts'
import { drawMore, give, type Moves, openMoves } from './moves.ts'

/** `timeLeft` is the length of a job's slots that are still to be drawn from, `left` what those that are drawn from still have. */
type State = Moves & { readonly timeLeft: Float64Array; readonly isBegun: Uint8Array; readonly left: Float64Array }

/**
 * Bring as much energy as possible from supplies to jobs, at the least cost. `prices` are the supplies of each price, cheapest first, no slot twice
 * at one; `used` follows their order.
 *
 * What supplies can give together is a polymatroid: a job may take any slot of its window at the same price. So going through the prices
 * once, drawing at each as much as is possible by moving earlier energy between slots, gives the most energy and of all such plans
 * the cheapest. Numbers are whole, so nothing is rounded up to 2^53. Yields between searches, so that a caller may pause.
 * Source: Federgruen and Groenevelt, The greedy procedure for resource allocation problems (1986).
 */
export function* fillCheapest(problem: FlowProblem, prices: readonly (readonly Supply[])[]): Generator<undefined, Flow> {
  const [jobs, slots, supplies] = [problem.demand.length, problem.length.length, prices.flat()]
  const flow = emptyFlow(problem, supplies.length)
  const [timeLeft, isBegun, left] = [new Float64Array(jobs), new Uint8Array(slots), new Float64Array(slots)]
  const moves = openMoves(problem, flow)
  const closedSlots = { words: 0, bits: moves.closedSlots }
  const state: State = { ...moves, timeLeft, isBegun, left }
  for (const slot of new Set(supplies.map(one => one.slot))) passTime(state, slot, 1)
  let index = 0
  for (const together of prices) {
    yield undefined
    for (const { slot, capacity } of together) left[slot] = capacity - pushDirectly(state, slot, capacity)
    const slots = together.map(({ slot }) => slot).filter(slot => !isUp(closedSlots, 0, slot))
    yield* drawMore(state, slots, left)
    for (const { slot, capacity } of together) flow.used[index++] = capacity - (left[slot] as number)
  }
  return flow
}

const passTime = ({ open, problem, timeLeft }: State, slot: number, sign: 1 | -1): void => {
  const length = sign * (problem.length[slot] as number)
  for (const job of columnsOf(open, slot)) timeLeft[job] = (timeLeft[job] as number) + length
}

/** Give a slot's energy to the jobs that still want some; gives how much was taken. */
const pushDirectly = (state: State, slot: number, capacity: number): number => {
  const { problem, flow } = state
  if (state.isBegun[slot] === 0) passTime(state, slot, -1)
  state.isBegun[slot] = 1
  let left = capacity
  for (const job of takersInOrder(state, slot, capacity)) {
    if (left <= 0) break
    const taken = Math.min(left, flow.unmet[job] as number, roomOf(problem, flow, job, slot))
    give(state, job, slot, taken)
    left -= taken
  }
  return capacity - left
}

/** Shares of its time that a job can spare are told apart in so many steps. */
const steps = 64

/**
 * The jobs that still want energy. Where there is not enough for all, those that can spare the least share of their time come first,
 * so that little has to be moved later; then those that run right before or after, so that pieces are few.
 */
const takersInOrder = ({ problem, flow, open, timeLeft }: State, slot: number, capacity: number): Iterable<number> => {
  const jobs = problem.demand.length
  const wanting = columnsOf(open, slot).filter(job => (flow.unmet[job] as number) > 0)
  let wanted = 0
  for (const job of wanting) wanted += Math.min(flow.unmet[job] as number, roomOf(problem, flow, job, slot))
  if (wanted <= capacity) return wanting
  const length = problem.length[slot] as number
  // The order in which jobs come, above their own: a typed array sorts fast.
  const keys = Float64Array.from(wanting, job => {
    const needed = (flow.unmet[job] as number) / (problem.rate[job] as number) / ((timeLeft[job] as number) + length)
    const isRunning = runsIn(problem, flow, job, slot - 1) || runsIn(problem, flow, job, slot + 1)
    return (steps - Math.min(steps, Math.floor(needed * steps))) * 2 * jobs + (isRunning ? 0 : jobs) + job
  })
  return keys.sort().map(key => key % jobs)
}
