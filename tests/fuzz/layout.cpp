#include "layout.hpp"

#include <algorithm>

namespace fuzz {

MPI_Datatype mpi_type(Base base) {
  switch (base) {
    case Base::kByte:
      return MPI_BYTE;
    case Base::kChar:
      return MPI_CHAR;
    case Base::kDouble:
      return MPI_DOUBLE;
    case Base::kUnsignedChar:
      return MPI_UNSIGNED_CHAR;
    case Base::kUint16:
      return MPI_UINT16_T;
    case Base::kUint32:
      return MPI_UINT32_T;
    case Base::kUint64:
      return MPI_UINT64_T;
  }
  return MPI_BYTE;
}

int size_of(Base base) {
  switch (base) {
    case Base::kUint16:
      return 2;
    case Base::kUint32:
      return 4;
    case Base::kUint64:
    case Base::kDouble:
      return 8;
    default:
      return 1;
  }
}

Base random_base(Random& random) {
  static const std::vector<Base> all = {Base::kByte,   Base::kByte,         Base::kChar,
                                        Base::kDouble, Base::kUnsignedChar, Base::kUint16,
                                        Base::kUint32, Base::kUint32,       Base::kUint64};
  return random.pick(all);
}

Base random_integer(Random& random) {
  static const std::vector<Base> all = {Base::kUnsignedChar, Base::kUint16, Base::kUint32,
                                        Base::kUint32, Base::kUint64};
  return random.pick(all);
}

Layout::~Layout() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized && kept_ != MPI_DATATYPE_NULL && kind_ != Kind::kNamed) MPI_Type_free(&kept_);
}

void Layout::place_blocks(const std::vector<int>& lengths,
                          const std::vector<std::int64_t>& displacements) {
  bool first = true;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] == 0) continue;
    for (int i = 0; i < lengths[b]; ++i) {
      for (std::int64_t offset : inner_->offsets_) {
        offsets_.push_back(displacements[b] + i * inner_->extent() + offset);
      }
    }
    const std::int64_t low = displacements[b] + inner_->lower_;
    const std::int64_t high =
        displacements[b] + (lengths[b] - 1) * inner_->extent() + inner_->upper_;
    lower_ = first ? low : std::min(lower_, low);
    upper_ = first ? high : std::max(upper_, high);
    first = false;
  }
}

std::shared_ptr<Layout> Layout::make(Random& random, Base base, int elements, int depth) {
  auto layout = std::shared_ptr<Layout>(new Layout);
  layout->base_ = base;
  const int size = size_of(base);
  if (elements == 1 && (depth == 0 || random.chance(60))) {
    layout->offsets_ = {0};
    layout->upper_ = size;
    return layout;
  }
  const Kind kinds[] = {Kind::kContiguous, Kind::kContiguous, Kind::kVector,   Kind::kVector,
                        Kind::kHvector,    Kind::kIndexed,    Kind::kHindexed, Kind::kIndexedBlock,
                        Kind::kStruct,     Kind::kSubarray,   Kind::kResized,  Kind::kDup};
  layout->kind_ = depth == 0 ? Kind::kContiguous : kinds[random.below(12)];

  // What the constructor is applied to: an element, or a smaller random type.
  if (layout->kind_ == Kind::kResized || layout->kind_ == Kind::kDup) {
    layout->inner_ = make(random, base, elements, depth - 1);
  } else {
    const int part = depth > 1 && layout->kind_ != Kind::kSubarray && random.chance(30)
                         ? random.divisor(elements)
                         : 1;
    layout->inner_ = make(random, base, part, part == 1 ? 0 : depth - 1);
  }
  const int pieces = elements / layout->inner_->elements();
  const std::int64_t step = layout->inner_->extent();

  switch (layout->kind_) {
    case Kind::kNamed:
    case Kind::kContiguous: {
      layout->count_ = pieces;
      layout->place_blocks({pieces}, {0});
      break;
    }
    case Kind::kVector:
    case Kind::kHvector:
    case Kind::kIndexedBlock: {
      const int length = random.divisor(pieces);
      layout->count_ = pieces / length;
      layout->stride_ = length + random.below(4);
      layout->lengths_.assign(static_cast<std::size_t>(layout->count_), length);
      std::int64_t at = 0;
      for (int b = 0; b < layout->count_; ++b) {
        layout->displacements_.push_back(at * step);
        at += layout->kind_ == Kind::kIndexedBlock ? length + random.below(3) : layout->stride_;
      }
      layout->place_blocks(layout->lengths_, layout->displacements_);
      break;
    }
    case Kind::kIndexed:
    case Kind::kHindexed:
    case Kind::kStruct: {
      int left = pieces;
      std::int64_t at = random.below(3);
      while (left > 0) {
        int length = layout->lengths_.size() >= 5 ? left : 1 + random.below(left);
        if (random.chance(5)) length = 0;
        layout->lengths_.push_back(length);
        layout->displacements_.push_back(at * step);
        at += length + random.below(4);
        left -= length;
      }
      if (random.chance(25)) {
        for (std::size_t i = layout->lengths_.size(); i > 1; --i) {
          const auto j = static_cast<std::size_t>(random.below(static_cast<int>(i)));
          std::swap(layout->lengths_[i - 1], layout->lengths_[j]);
          std::swap(layout->displacements_[i - 1], layout->displacements_[j]);
        }
      }
      layout->place_blocks(layout->lengths_, layout->displacements_);
      break;
    }
    case Kind::kSubarray: {
      const int columns = random.divisor(pieces);
      const int rows = pieces / columns;
      int* shape = layout->shape_;
      shape[0] = rows + random.below(3);
      shape[1] = columns + random.below(4);
      shape[2] = rows;
      shape[3] = columns;
      shape[4] = random.below(shape[0] - rows + 1);
      shape[5] = random.below(shape[1] - columns + 1);
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
          layout->offsets_.push_back(((shape[4] + r) * shape[1] + shape[5] + c) * step);
        }
      }
      layout->upper_ = static_cast<std::int64_t>(shape[0]) * shape[1] * step;
      break;
    }
    case Kind::kResized: {
      layout->offsets_ = layout->inner_->offsets_;
      layout->upper_ = layout->inner_->upper_ + static_cast<std::int64_t>(random.below(5)) * size;
      break;
    }
    case Kind::kDup: {
      layout->offsets_ = layout->inner_->offsets_;
      layout->lower_ = layout->inner_->lower_;
      layout->upper_ = layout->inner_->upper_;
      break;
    }
  }
  return layout;
}

LayoutPtr Layout::random(Random& random, Base base, int elements, bool plain) {
  return make(random, base, elements, plain ? 0 : 2);
}

std::vector<std::int64_t> Layout::places(int count) const {
  std::vector<std::int64_t> all;
  all.reserve(offsets_.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    for (std::int64_t offset : offsets_) all.push_back(i * extent() + offset);
  }
  return all;
}

MPI_Datatype Layout::build() const {
  if (kind_ == Kind::kNamed) return mpi_type(base_);
  MPI_Datatype inner = inner_->build();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const int blocks = static_cast<int>(lengths_.size());
  std::vector<int> indices;
  std::vector<MPI_Aint> bytes(displacements_.begin(), displacements_.end());
  for (std::int64_t displacement : displacements_)
    indices.push_back(static_cast<int>(displacement / std::max<std::int64_t>(1, inner_->extent())));
  switch (kind_) {
    case Kind::kNamed:
    case Kind::kContiguous:
      MPI_Type_contiguous(count_, inner, &type);
      break;
    case Kind::kVector:
      MPI_Type_vector(count_, lengths_[0], stride_, inner, &type);
      break;
    case Kind::kHvector:
      MPI_Type_create_hvector(count_, lengths_[0],
                              static_cast<MPI_Aint>(stride_ * inner_->extent()), inner, &type);
      break;
    case Kind::kIndexedBlock:
      MPI_Type_create_indexed_block(count_, lengths_[0], indices.data(), inner, &type);
      break;
    case Kind::kIndexed:
      MPI_Type_indexed(blocks, lengths_.data(), indices.data(), inner, &type);
      break;
    case Kind::kHindexed:
      MPI_Type_create_hindexed(blocks, lengths_.data(), bytes.data(), inner, &type);
      break;
    case Kind::kStruct: {
      std::vector<MPI_Datatype> types(lengths_.size(), inner);
      MPI_Type_create_struct(blocks, lengths_.data(), bytes.data(), types.data(), &type);
      break;
    }
    case Kind::kSubarray:
      MPI_Type_create_subarray(2, shape_, shape_ + 2, shape_ + 4, MPI_ORDER_C, inner, &type);
      break;
    case Kind::kResized:
      MPI_Type_create_resized(inner, static_cast<MPI_Aint>(lower_), static_cast<MPI_Aint>(extent()),
                              &type);
      break;
    case Kind::kDup:
      MPI_Type_dup(inner, &type);
      break;
  }
  release(inner, *inner_);
  MPI_Type_commit(&type);
  return type;
}

void Layout::release(MPI_Datatype type, const Layout& layout) {
  if (layout.kind_ != Kind::kNamed) MPI_Type_free(&type);
}

MPI_Datatype Layout::kept() const {
  if (kept_ == MPI_DATATYPE_NULL) kept_ = build();
  return kept_;
}

}  // namespace fuzz
