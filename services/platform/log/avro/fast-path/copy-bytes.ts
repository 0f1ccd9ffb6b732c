/** Copy a few bytes, four at a time: for so few that is faster than a call of the engine. Up to three bytes behind the copy are overwritten. */
export const copyBytes = (to: DataView, at: number, from: DataView, start: number, length: number): void => {
  if (start + length + 3 <= from.byteLength) {
    for (let done = 0; done < length; done += 4) to.setInt32(at + done, from.getInt32(start + done))
  } else {
    for (let done = 0; done < length; done += 1) to.setUint8(at + done, from.getUint8(start + done))
  }
}
