import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import { runWork, type Work } from '../work/run-work.ts'
import type { CostReads } from './cost-reads.ts'

/** So many elements are added up and written at once, in some ms. */
export const fewElements = 200
/** So many bytes of rows are decoded at once, in some ms. */
const fewBytes = 65_536

/** Tell whether blocks of rows are decoded in some ms. */
export const isFew = (blocks: readonly Uint8Array[]): boolean => blocks.reduce((sum, { length }) => sum + length, 0) <= fewBytes

type CostName = 'intervalCost' | 'sessionCost'
type InputOf<Name extends CostName> = Work<Name>['input']

/** Add up costs and write the answer, in the thread unless it is small: as a table if the request wants one. */
export const answerCosts = async <Name extends CostName>(
  { thread }: Pick<CostReads, 'thread'>,
  { caller, signal, layout, wantsCsv }: Pick<RequestOf<Operation>, 'caller' | 'signal' | 'layout' | 'wantsCsv'>,
  { name, input, isSmall }: { readonly name: Name; readonly input: Omit<InputOf<Name>, 'layout' | 'isTable'>; readonly isSmall: boolean },
): Promise<Outcome<never>> => {
  const isTable = wantsCsv === true
  const whole = { ...input, layout, isTable } as unknown as InputOf<Name>
  const begun = await runWork(thread, { name, input: whole, isSmall, account: caller.accountId, signal })
  return begun.ok ? { ok: true, written: begun.value.answer, isTable } : begun
}
