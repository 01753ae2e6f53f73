// A gate of three encoders: features instead of tokens.
//
// A camera's events are cheap to encode and say little of a scene that hardly moves; one frame is dearer and better;
// video is what the decoder was made for. The gate asks each encoder whether it sees what the one below saw, and stops
// where it does. Which map leads from the features of one to those of the next is fitted beforehand, on scenes of which
// all three are known.

#include <augur/encoder/gate.hpp>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <random>
#include <vector>

namespace {

using augur::encoder::feature_samples;
using augur::encoder::features;

constexpr Eigen::Index pixels = 64, latent = 5, training = 600;
constexpr int held_out = 400;

struct event {
    Eigen::Index pixel;
    int sign;
};
using events = std::vector<event>;
using frame = Eigen::VectorXd;
using video = std::vector<frame>;

/// One scene as each sensor has it. What is there is `latent` numbers; how many events it makes depends on its motion.
struct scene {
    events seen_events;
    frame seen_frame;
    video seen_video;
};

class world {
 public:
    explicit world(unsigned seed) : random_(seed), appearance_(normal(pixels, latent)) {}

    Eigen::MatrixXd normal(Eigen::Index rows, Eigen::Index columns) {
        return Eigen::MatrixXd::NullaryExpr(rows, columns, [this] { return normal_(random_); });
    }

    scene draw() {
        const frame truth = appearance_ * normal(latent, 1);
        const double motion = std::uniform_real_distribution<double>(0, 0.5)(random_);
        scene drawn{{}, truth + normal(pixels, 1), {}};
        for (Eigen::Index pixel = 0; pixel < pixels; ++pixel) {
            const double change = motion * truth[pixel] + 0.3 * normal_(random_);
            if (std::abs(change) > 0.5) drawn.seen_events.push_back({pixel, change > 0 ? 1 : -1});
        }
        for (int i = 0; i < 8; ++i) drawn.seen_video.push_back(truth + normal(pixels, 1));
        return drawn;
    }

 private:
    std::mt19937 random_;
    std::normal_distribution<double> normal_;
    Eigen::MatrixXd appearance_;
};

/// What each encoder costs, in units of work.
constexpr std::array<double, 3> costs{1, 6, 40};

struct encoders {
    Eigen::MatrixXd of_events, of_frame, of_video;

    explicit encoders(world& all)
        : of_events(all.normal(12, pixels) / 8),
          of_frame(all.normal(16, pixels) / 8),
          of_video(all.normal(24, pixels) / 8) {}

    features operator()(const events& seen) const {
        features result = features::Zero(of_events.rows());
        for (const event& each : seen) result += each.sign * of_events.col(each.pixel);
        return result;
    }
    features operator()(const frame& seen) const { return of_frame * seen; }
    features operator()(const video& seen) const {
        frame mean = frame::Zero(pixels);
        for (const frame& each : seen) mean += each / static_cast<double>(seen.size());
        return (of_video * mean).array().tanh();
    }
};

struct report {
    const char* name;
    double scenes = 0;
    double cost = 0;
    double error = 0;  ///< relative distance from the video's features

    void add(double more_cost, const features& best, const features& taken) {
        ++scenes;
        cost += more_cost;
        error += augur::encoder::relative_distance::between(best, taken);
    }
    void add(const augur::encoder::gate_result<3>& result, const features& best) {
        double spent = 0;
        for (std::size_t i = 0; i < costs.size(); ++i) spent += result.ran[i] ? costs[i] : 0;
        add(spent, best, result.accepted);
    }
    void print() const {
        const double count = std::max(scenes, 1.0);
        std::cout << std::left << std::setw(24) << name << std::right << std::setw(8) << scenes / held_out
                  << std::setw(9) << cost / count << std::setw(8) << error / count << '\n';
    }
};

}  // namespace

int main() {
    world all(1);
    const encoders encode(all);
    feature_samples of_events(training, 12), of_frames(training, 16), of_videos(training, 24);
    for (Eigen::Index i = 0; i < training; ++i) {
        const scene seen = all.draw();
        of_events.row(i) = encode(seen.seen_events);
        of_frames.row(i) = encode(seen.seen_frame);
        of_videos.row(i) = encode(seen.seen_video);
    }
    const auto to_frame = augur::encoder::linear::fit(of_events, of_frames);
    const auto to_video = augur::encoder::mlp::fit(of_frames, of_videos);
    const auto gate = augur::gated(encode, to_frame, encode, to_video, encode);  // each with the overload for its input

    std::array<report, 3> exits{{{"  exit: events"}, {"  exit: frames"}, {"  exit: video"}}};
    report agreement{"first agreement"}, confirmation{"first confirmation"}, published{"as published"};
    report only_events{"always events"}, only_frames{"always frames"}, only_video{"always video"};
    decltype(gate)::statistics_type counts;
    for (int i = 0; i < held_out; ++i) {
        const scene seen = all.draw();
        const features best = encode(seen.seen_video);
        const auto result = gate.first_agreement(seen.seen_events, seen.seen_frame, seen.seen_video);
        counts.add(result);
        exits[result.exit].add(result, best);
        agreement.add(result, best);
        confirmation.add(gate.first_confirmation(seen.seen_events, seen.seen_frame, seen.seen_video), best);
        published.add(gate.as_published(seen.seen_events, seen.seen_frame, seen.seen_video), best);
        only_events.add(costs[0], best, to_video(to_frame(encode(seen.seen_events))));
        only_frames.add(costs[1], best, to_video(encode(seen.seen_frame)));
        only_video.add(costs[2], best, best);
    }

    std::cout << std::fixed << std::setprecision(3) << "                           share     cost   error\n";
    agreement.print();
    for (const report& each : exits) each.print();
    for (const report& each : {confirmation, published, only_events, only_frames, only_video}) each.print();
    std::cout << "first agreement ran the encoders " << counts.runs[0] << ", " << counts.runs[1] << " and "
              << counts.runs[2] << " times\n";
    const auto pays = [&](const report& one) { return one.cost < only_video.cost && one.error <= only_events.error; };
    return pays(agreement) && pays(confirmation) && confirmation.error < agreement.error ? 0 : 1;
}
