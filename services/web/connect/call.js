// The page posts where it was opened from; the token in its address is all the authority it has.
const address = location.pathname

let token = new URLSearchParams(location.search).get('fp_cot')

/** An answer that is no page: what went wrong, in words for a person. */
export class CallError extends Error {
  constructor({ message, field, code, requestId }) {
    super(message)
    this.field = field
    this.code = code
    this.requestId = requestId
  }
}

const incomplete = 'This link is not complete.'
const unreachable = 'The service cannot be reached. Check the connection and try again.'

/** Post one step of the session. Throws `CallError` with what the service answered, or that it did not. */
export const postStep = async step => {
  if (!token) throw new CallError({ message: incomplete })
  let answer
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ connect_token: token, ...step }),
    })
    answer = await response.json()
  } catch (cause) {
    throw new CallError({ message: unreachable, cause })
  }
  if (answer.object === 'error') {
    throw new CallError({
      message: answer.message,
      field: answer.field,
      code: answer.code,
      requestId: answer.request_id,
    })
  }
  token = answer.connect_token ?? token
  return answer
}
