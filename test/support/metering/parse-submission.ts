import { openRecords } from '../../../services/contract/metering/meter-batch.ts'
import type { SubmissionReader } from '../../../services/contract/metering/read-submission.ts'
import type { RawBody } from '../../../services/contract/operation.ts'
import { accepted, type Result } from '../../../services/domain/refusal.ts'

/** Elements of a submission, and the indexes of the elements that are too long. */
export type Submission = { readonly elements: readonly unknown[]; readonly oversized: ReadonlySet<number> }

export const noPause = (): Promise<void> => Promise.resolve()

/** Read all elements of a submission at once. */
export const readElements = async ({
  count,
  isTooLong,
  read,
  refuse,
}: SubmissionReader): Promise<Result<Submission>> => {
  const elements: unknown[] = []
  for (let index = 0; index < count; index += 1) {
    const element = read(index)
    if (!element.ok) return refuse(index, element.refusal)
    elements.push(element.value)
  }
  return accepted({ elements, oversized: new Set([...elements.keys()].filter(isTooLong)) })
}

/** Read a submission at once. */
export const parseSubmission = async (body: RawBody): Promise<Result<Submission>> => {
  const opened = await openRecords(body, noPause)
  return opened.ok ? readElements(opened.value) : opened
}
