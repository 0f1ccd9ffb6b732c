import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import { runWork, type Work } from '../work/run-work.ts'
import type { CostReads } from './cost-reads.ts'

/** So many elements are added up and written at once, in some ms. */
export const fewElements = 200
/** So many bytes of rows are decoded at once, in some ms. */
const fewBytes = 65_536

/** What blocks or texts take together; a character counts a byte. */
export const bytesOf = (parts: readonly { readonly length: number }[]): number => parts.reduce((sum, { length }) => sum + length, 0)

/** Tell whether blocks of rows are decoded in some ms. */
export const isFew = (blocks: readonly Uint8Array[]): boolean => bytesOf(blocks) <= fewBytes

type CostName = 'intervalCost' | 'sessionCost'
type InputOf<Name extends CostName> = Work<Name>['input']

/** Add up costs and write the answer, in the thread unless it is small: as a table if the request wants one. */
export const answerCosts = async <Name extends CostName>(
  { thread }: Pick<CostReads, 'thread'>,
  { caller, signal, layout, wantsCsv }: Pick<RequestOf<Operation>, 'caller' | 'signal' | 'layout' | 'wantsCsv'>,
  {
    input,
    ...work
  }: Pick<Work<Name>, 'name' | 'isSmall' | 'bytes'> & { readonly input: Omit<InputOf<Name>, 'layout' | 'isTable'>; readonly bytes: number },
): Promise<Outcome<never>> => {
  const isTable = wantsCsv === true
  const whole = { ...input, layout, isTable } as unknown as InputOf<Name>
  const begun = await runWork(thread, { ...work, input: whole, account: caller.accountId, signal })
  return begun.ok ? { ok: true, written: begun.value.answer, isTable } : begun
}
