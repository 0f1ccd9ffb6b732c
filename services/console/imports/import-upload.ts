import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { readWithinLimit } from '../../platform/http/request-body.ts'
import { isSameSite } from '../forms.ts'

/** Largest upload in bytes, with the other fields of its form. Source: docs/rules/limits.md #objects. */
const maxUploadBytes = 15 * 2 ** 20 + 65_536

/** Fields and file of a sent form. */
export type Upload = { readonly form: URLSearchParams; readonly file: File | null }

/**
 * Read a form with a file into memory. `too_large`: the body is above the limit. Null if the body is no form, or the form is
 * from another site.
 */
export const readUpload = async (request: Request, account: string): Promise<Upload | 'too_large' | null> => {
  const type = request.headers.get('content-type') ?? ''
  if (!isSameSite(request) || !type.toLowerCase().startsWith('multipart/form-data;') || request.body === null)
    return null
  // The server reads the rest of a refused body, so that the browser shows the page.
  if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes) return 'too_large'
  const bytes = await readWithinLimit(request.body, maxUploadBytes, { account, hasCapacity: () => true })
  if (!bytes.ok) return 'too_large'
  try {
    const sent = await new Response(Buffer.from(bytes.value), { headers: { 'Content-Type': type } }).formData()
    const form = new URLSearchParams()
    let file: File | null = null
    for (const [name, value] of sent) {
      if (typeof value === 'string') form.append(name, value)
      else if (name === 'file' && value.size > 0) file = value
    }
    return { form, file }
  } catch (error) {
    // A body that does not follow its media type is no form.
    if (error instanceof TypeError) return null
    throw error
  }
}

const chunkBytes = 65_536

/** Read a file in chunks, in time slices of the account. */
export async function* fileChunks(file: File, account: string): AsyncGenerator<Uint8Array> {
  const slices = startTimeSlices(account)
  const bytes = new Uint8Array(await file.arrayBuffer())
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    yield bytes.subarray(start, start + chunkBytes)
    if (slices.isOver()) await slices.pause()
  }
}
