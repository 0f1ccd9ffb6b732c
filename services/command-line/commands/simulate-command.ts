import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { simulationCreate, simulationRetrieve } from '../../contract/simulations/simulation.ts'
import { type Command, CommandError, success } from '../command.ts'
import { logIn, type Received, type ServiceClient } from '../service-client.ts'
import { table } from '../table.ts'
import { readAnyTarget, targetOptions } from '../target.ts'

type Simulation = Received<typeof simulationRetrieve>

type StoredBill = NonNullable<Simulation['baseline']>

/** Stored bill, or the bill of a candidate, which has a name and differences. */
type Bill = Omit<StoredBill, 'months'> & {
  readonly name?: string
  readonly difference?: number
  readonly months: readonly (StoredBill['months'][number] & { readonly difference?: number })[]
}

/** Time in ms between two requests for the progress of a large simulation. */
const pollMs = 1_000

const readRequest = (file: string): string => {
  try {
    const text = readFileSync(file, 'utf8')
    JSON.parse(text)
    return text
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`${file} is not a JSON file with the body of POST /simulations: ${reason}`)
  }
}

/** Read a large simulation until it is calculated. */
const waitUntilDone = async (
  client: ServiceClient,
  first: Simulation,
  onProgress: (line: string) => void,
): Promise<Simulation> => {
  let simulation = first
  for (let shown = -1; simulation.status === 'PENDING'; ) {
    const { locations, done } = simulation.progress
    if (done !== shown) onProgress(`${simulation.id}: ${done} of ${locations} locations`)
    shown = done
    await sleep(pollMs)
    simulation = await client.ask(simulationRetrieve, { id: simulation.id ?? '' })
  }
  return simulation
}

/** Say on how many days each bill has all its standing charges, if the days differ. */
const standingNote = (bills: readonly Bill[]): readonly string[] => {
  if (new Set(bills.map(bill => bill.standing_days)).size < 2) return []
  const days = bills.map(({ name = '', standing_days: count }) => `${name} ${count ?? 'unknown'}`)
  return ['', `  Days with all standing charges: ${days.join(', ')}.`]
}

/** Format a comparison for a terminal, with the totals of each month if `hasMonths` is true. */
export const simulationText = (
  { currency_code: currency, start_date: start, end_date: end, rounding, baseline, data }: Simulation,
  hasMonths: boolean,
): string => {
  const money = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(rounding.decimals))
  const signed = (value: number | undefined): string => (value !== undefined && value > 0 ? '+' : '') + money(value)
  const bills: readonly Bill[] = [...(baseline === null ? [] : [{ ...baseline, name: 'stored' }]), ...data]
  const nameOf = ({ name = '', complete }: Bill): string => (complete ? name : `${name} *`)
  const rows = bills.map(bill => [
    ...[nameOf(bill), money(bill.energy), money(bill.charges), money(bill.tax), money(bill.total)],
    signed(bill.difference),
  ])
  const totals = table(['bill', 'energy', 'charges', 'tax', 'total', 'difference'], rows, '')
  const monthRows = bills.flatMap(bill =>
    bill.months.map(({ month, total, difference }) => [month, nameOf(bill), money(total), signed(difference)]),
  )
  monthRows.sort(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0))
  const months = hasMonths ? ['', table(['month', 'bill', 'total', 'difference'], monthRows, '')] : []
  const note = bills.every(({ complete }) => complete) ? [] : ['', '  * Records or prices are missing.']
  return [`  ${currency}, ${start} to ${end}`, '', totals, ...months, ...note, ...standingNote(bills)].join('\n')
}

export const simulateCommand: Command = {
  name: 'simulate',
  operands: ['FILE'],
  summary: 'Compare costs with other tariffs and charges.',
  details: [
    'Requires a running service. FILE has the body of POST /simulations as JSON: locations, days and candidates.',
    'Prints the stored bill and the bill of each candidate as a table. Waits for large simulations.',
    'Default address and key: sandbox.json in the data folder. --base-url, --account and --key accept a live key.',
  ],
  options: { months: { summary: 'Print the totals of each month too.' }, ...targetOptions },
  run: async input => {
    const [file = ''] = input.operands
    const body = readRequest(file)
    const { baseUrl, account, key } = readAnyTarget(input)
    const client = await logIn(baseUrl, account, key)
    const first = await client.ask(simulationCreate, {}, body)
    const simulation = await waitUntilDone(client, first, input.onProgress)
    if (simulation.error !== null)
      throw new CommandError(`The simulation failed (${simulation.error.code}): ${simulation.error.message}`)
    return success(simulationText(simulation, input.options['months'] !== undefined), simulation)
  },
}
