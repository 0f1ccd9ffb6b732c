import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import { runWork, type Work } from '../work/run-work.ts'
import type { CostDependencies } from './cost-dependencies.ts'

/** So many elements are added up and written at once, in some ms. */
export const maxInlineElements = 200
/** So many bytes of rows are decoded at once, in some ms. */
const maxInlineBytes = 65_536

/** What blocks or texts take together; a character counts a byte. */
export const totalLength = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)

/** Tell whether blocks of rows are decoded in some ms. */
export const areSmall = (blocks: readonly Uint8Array[]): boolean => totalLength(blocks) <= maxInlineBytes

type CostName = 'intervalCost' | 'sessionCost'
type InputOf<Name extends CostName> = Work<Name>['input']

/** Add up costs and write the answer, in the thread unless it is small: as a table if the request wants one. */
export const answerCosts = async <Name extends CostName>(
  { thread }: Pick<CostDependencies, 'thread'>,
  { caller, signal, apiVersion, wantsCsv }: Pick<RequestOf<Operation>, 'caller' | 'signal' | 'apiVersion' | 'wantsCsv'>,
  {
    input,
    ...work
  }: Pick<Work<Name>, 'name' | 'isSmall' | 'bytes'> & {
    readonly input: Omit<InputOf<Name>, 'apiVersion' | 'isTable'>
    readonly bytes: number
  },
): Promise<Outcome<never>> => {
  const isTable = wantsCsv === true
  const workInput = { ...input, apiVersion, isTable } as unknown as InputOf<Name>
  const started = await runWork(thread, { ...work, input: workInput, account: caller.accountId, signal })
  return started.ok ? { ok: true, serialized: started.value.answer, isTable } : started
}
