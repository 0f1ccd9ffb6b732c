import type { CostPiece } from '../../../domain/cost/cost-piece.ts'
import type { PackedPieces } from '../meter-cost/meter-cost-row.ts'
import { rowTypes } from '../meter-cost/meter-cost-rows.ts'
import { type BlockWriter, blockWriter, type NativeType } from './fast-path/native-block.ts'
import { array } from './fast-path/native-types.ts'

/** A column of `pieces`: its type as a list, and the encoder of consecutive values. */
export type PieceColumn = {
  readonly name: string
  readonly listType: NativeType<readonly unknown[]>
  readonly write: (to: BlockWriter, pieces: readonly CostPiece[]) => void
}

const pieceColumn = <T>(name: string, nativeType: NativeType<T>, of: (piece: CostPiece) => T): PieceColumn => ({
  name: `pieces.${name}`,
  listType: array(nativeType) as NativeType<readonly unknown[]>,
  write: (to, pieces) => nativeType.write(to, pieces.map(of)),
})

/** Columns of `pieces`, in the order of `PackedPieces.columns`. */
export const pieceColumns: readonly PieceColumn[] = [
  pieceColumn('start_time', rowTypes.instant, piece => piece.start),
  pieceColumn('energy', rowTypes.energy, piece => piece.energy),
  pieceColumn('price', rowTypes.price, piece => piece.price),
  pieceColumn('tier', rowTypes.energy, piece => piece.tier),
  pieceColumn('cost', rowTypes.money, piece => piece.cost),
  pieceColumn('confidence', rowTypes.uint32, piece => piece.confidence),
]

/** Encoder of pieces that keeps 52 bytes per piece and no objects. */
export type PiecePacker = { readonly add: (pieces: readonly CostPiece[]) => void; readonly packed: () => PackedPieces }

/** Create an empty packer. */
export const piecePacker = (): PiecePacker => {
  const writers = pieceColumns.map(() => blockWriter(65_536))
  let count = 0
  return {
    add: pieces => {
      for (const [index, { write }] of pieceColumns.entries()) write(writers[index] as BlockWriter, pieces)
      count += pieces.length
    },
    packed: () => ({ count, columns: writers.map(({ bytes, at }) => bytes.subarray(0, at)) }),
  }
}
