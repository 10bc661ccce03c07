class Net(Base):
    def forward(self, x):
        if x.sum() > 0:
            x = super().forward(x)
        return self.__scaled(x) * self.__scale

    f = forward


f = Net.f
