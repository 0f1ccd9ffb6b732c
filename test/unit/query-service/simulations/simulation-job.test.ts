import { expect, it } from 'vitest'
import { emptySums, type SimulationSums } from '../../../../services/domain/simulation/simulation-sums.ts'
import { fromJobText, toJobText } from '../../../../services/query-service/simulations/simulation-job.ts'

it('sums are read as they were written, with integers of any size', async () => {
  const [bill] = emptySums(0, false).bills
  if (bill === undefined) throw new Error('no bill')
  const bills = [{ ...bill, energy: -(10n ** 30n), total: 0n, months: [] }]
  const sums: SimulationSums = { bills, locations: [{ locationId: '$integer', bills: [...bills, ...bills] }] }
  expect(await fromJobText(toJobText(sums), 'acc_1')).toEqual(sums)
})

it('other work runs while a large text is read', async () => {
  const [bill] = emptySums(0, false).bills
  if (bill === undefined) throw new Error('no bill')
  const sums = { bills: Array.from({ length: 30_000 }, () => bill), locations: null }
  const text = toJobText(sums)
  let turns = 0
  const timer = setInterval(() => (turns += 1), 0)
  await fromJobText(text, 'acc_1')
  clearInterval(timer)
  expect(turns).toBeGreaterThan(2)
})
